// The shop: three files and three endpoints, on 127.0.0.1 at the port in PORT.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const pages = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/shop.css': ['shop.css', 'text/css; charset=utf-8'],
  '/shop.js': ['shop.js', 'text/javascript; charset=utf-8'],
};

const endpoints = {
  '/api/products': () => [
    { id: 'sencha', name: 'Sencha', note: 'Green, first harvest, 100 g', price: '12.50' },
    { id: 'assam', name: 'Assam', note: 'Black and malty, 100 g', price: '8.90' },
    { id: 'rooibos', name: 'Rooibos', note: 'Red, no caffeine, 100 g', price: '6.40' },
  ],
  // Nobody ever gave a price to wrapping.
  '/api/wrapping': () => ({ price: null }),
  '/api/stock': async query => {
    if (query.has('slow')) await sleep(5_000);
    return { sencha: 24, assam: 3, rooibos: 11 };
  },
};

createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  const send = (status, type, body) => response.writeHead(status, { 'content-type': type }).end(body);
  if (pathname in endpoints) {
    send(200, 'application/json', JSON.stringify(await endpoints[pathname](searchParams)));
  } else if (pathname in pages) {
    const [file, type] = pages[pathname];
    send(200, type, await readFile(new URL(file, import.meta.url)));
  } else {
    send(404, 'text/plain', 'not found');
  }
}).listen(Number(process.env.PORT), '127.0.0.1');
