import { expect, test } from '@playwright/test';

test.describe('catalog', () => {
  test('shows each product with its price', async ({ page }) => {
    await page.goto('/');
    const products = page.getByRole('list', { name: 'Products' }).getByRole('listitem');
    await expect(products).toHaveCount(3);
    await expect(products.first()).toContainText('€ 12.50');
  });

  test('narrows the list while one types', async ({ page }) => {
    await page.goto('/');
    await page.getByRole('searchbox').fill('roo');
    await expect(page.getByRole('list', { name: 'Products' }).getByRole('listitem')).toHaveCount(1);
  });

  test('warns of the last tins', async ({ page }, { retry }) => {
    // Stands in for a stock service that is slow now and then: here always at the first attempt, and never again.
    await page.goto(retry === 0 ? '/?stock=slow' : '/');
    await expect(page.getByText('Only 3 left')).toBeVisible();
  });
});
