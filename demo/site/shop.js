// The page: lists products, fills the cart, adds it up.

const get = async path => (await fetch(path)).json();
const find = id => document.getElementById(id);
const euros = amount => `€ ${amount.toFixed(2)}`;

const [products, wrapping] = await Promise.all([get('/api/products'), get('/api/wrapping')]);
const cart = [];

function element(tag, text, name) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

function showProducts() {
  const wanted = find('search').value.toLowerCase();
  const rows = products.filter(({ name }) => name.toLowerCase().includes(wanted)).map(product => {
    const row = element('li', '');
    const button = element('button', 'Add');
    button.setAttribute('aria-label', `Add ${product.name}`);
    button.onclick = () => { cart.push(product); showCart(); };
    row.append(element('strong', product.name), element('span', euros(Number.parseFloat(product.price))), button);
    row.append(element('p', product.note));
    if (product.left < 5) row.append(element('span', `Only ${product.left} left`, 'stock'));
    return row;
  });
  find('products').replaceChildren(...rows);
}

function showCart() {
  find('lines').replaceChildren(...cart.map(({ name }) => element('li', name)));
  let total = 0;
  for (const { price } of cart) total += Number.parseFloat(price);
  if (find('wrap').checked) total += Number.parseFloat(wrapping.price);
  find('total').value = euros(total);
}

find('search').oninput = showProducts;
find('wrap').onchange = showCart;
showProducts();

const slow = new URLSearchParams(location.search).get('stock') === 'slow';
const stock = await get(slow ? '/api/stock?slow' : '/api/stock');
for (const product of products) product.left = stock[product.id];
showProducts();
