import { expect, test } from '@playwright/test';

test.describe('cart', () => {
  test.beforeEach(async ({ page }) => {
    await page.goto('/');
    await page.getByRole('button', { name: 'Add Sencha' }).click();
    await page.getByRole('button', { name: 'Add Assam' }).click();
  });

  test('lists what was added', async ({ page }) => {
    await expect(page.getByRole('list', { name: 'Lines' }).getByRole('listitem')).toHaveText(['Sencha', 'Assam']);
  });

  test('adds up the prices', async ({ page }) => {
    await expect(page.getByTestId('total')).toHaveText('€ 21.40');
  });

  test('adds gift wrap to the total', async ({ page }) => {
    await page.getByLabel('Gift wrap').check();
    await expect(page.getByTestId('total')).toHaveText('€ 23.90');
  });
});
