'use strict';

const TOAST_MS = 4000;
const LOW_STOCK = 5;
const RATES_ORIGIN = document.documentElement.dataset.rates;

const $ = (selector) => document.querySelector(selector);

/** The state of the page. Everything shown is drawn from it. */
const state = {
  products: new Map(),
  shown: null,
  stock: new Map(),
  saved: new Set(),
  cart: { lines: [], total: 0 },
  percentOff: 0,
  shipping: null,
  currency: 'EUR',
  rates: { EUR: 1 },
};

/** Makes an element: properties that begin with "on" are listeners, others attributes. */
function h(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** Calls the shop's API and returns the JSON. A status other than success is an error. */
async function api(path, body) {
  const options = body === undefined ? {} : {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  };
  const response = await fetch(path, options);
  if (!response.ok) throw new Error(`the shop answered ${response.status}`);
  return response.json();
}

/** An amount of euros in the chosen currency. */
function money(euros) {
  if (typeof euros !== 'number') console.error(`money(): expected a number, got ${euros}`);
  const amount = euros * (state.rates[state.currency] ?? 1);
  return new Intl.NumberFormat('en', { style: 'currency', currency: state.currency }).format(amount);
}

function toast(text, kind = 'success') {
  const element = h('div', { class: `toast toast-${kind}`, role: kind === 'error' ? 'alert' : 'status' }, text);
  // Inside an open dialog, because everything outside is inert and below it.
  const host = document.querySelector('dialog[open]') ?? document.body;
  if ($('#toasts').parentElement !== host) host.append($('#toasts'));
  $('#toasts').append(element);
  setTimeout(() => element.remove(), TOAST_MS);
}

function showBanner(text, retry) {
  $('#banner').replaceChildren(
    h('div', { class: 'banner error', role: 'alert' }, h('span', {}, text),
      h('button', { type: 'button', onclick: retry, 'data-testid': 'retry' }, 'Try again')),
  );
}

// The collection.

async function loadProducts() {
  try {
    const products = await api('/api/products');
    state.products = new Map(products.map((product) => [product.id, product]));
    state.stock = new Map(products.map((product) => [product.id, product.stock]));
    $('#banner').replaceChildren();
  } catch (error) {
    showBanner(`Products could not be loaded: ${error.message}.`, loadProducts);
  }
  drawProducts();
  document.documentElement.dataset.state = 'ready';
}

function drawProducts() {
  const all = [...state.products.values()];
  const products = state.shown === null ? all : all.filter((product) => state.shown.includes(product.id));
  $('#products').replaceChildren(...products.map(card));
  $('#result-count').textContent = all.length === 0 ? '' : `${products.length} of ${all.length}`;
}

function card(product) {
  return h('li', { class: 'card' },
    h('button', { class: 'picture', type: 'button', 'aria-label': `Details of ${product.name}`, 'data-testid': `open-${product.id}`, onclick: () => openDetail(product.id) },
      h('img', { src: product.image, alt: product.name, width: 320, height: 240 })),
    h('div', { class: 'body' },
      h('h3', {}, product.name),
      h('p', { class: 'blurb' }, product.blurb),
      h('div', { class: 'row' },
        h('span', { class: 'price' }, money(product.price)),
        stockLabel(product.id)),
      h('div', { class: 'row' },
        h('div', { class: 'actions' },
          h('button', { class: 'primary', type: 'button', 'data-testid': `add-${product.id}`, onclick: () => addToCart(product) }, 'Add to cart'),
          saveButton(product)))));
}

function saveButton(product) {
  return h('button', {
    class: 'save', type: 'button', 'aria-label': `Save ${product.name} for later`, 'aria-pressed': String(state.saved.has(product.id)),
    'data-testid': `save-${product.id}`, onclick: (event) => saveForLater(product, event.currentTarget),
  }, '♥');
}

function stockLabel(id) {
  const count = state.stock.get(id);
  return h('span', { class: 'stock', 'data-stock': id, 'data-low': String(count <= LOW_STOCK) }, `${count} in stock`);
}

async function openDetail(id) {
  const product = await api(`/api/products/${id}`);
  const dialog = $('#detail');
  dialog.replaceChildren(
    h('img', { src: product.image, alt: '' }),
    h('div', { class: 'body' },
      h('h2', { id: 'detail-title' }, product.name),
      h('p', { class: 'muted' }, product.description),
      h('dl', {},
        h('dt', {}, 'Size'), h('dd', {}, product.size),
        h('dt', {}, 'Weight'), h('dd', {}, `${product.grams} g`),
        h('dt', {}, 'Care'), h('dd', {}, product.care)),
      h('div', { class: 'row' },
        h('span', { class: 'price' }, money(product.price)),
        h('span', {},
          h('button', { class: 'plain', type: 'button', 'data-testid': 'close-detail', onclick: () => dialog.close() }, 'Close'),
          h('button', { class: 'primary', type: 'button', onclick: () => { dialog.close(); addToCart(product); } }, 'Add to cart')))));
  dialog.showModal();
}

async function saveForLater(product, button) {
  const answer = await api('/api/wishlist', { product: product.id });
  if (answer.saved) state.saved.add(product.id);
  else state.saved.delete(product.id);
  button.setAttribute('aria-pressed', String(answer.saved));
}

// Search.

let searches = 0;

async function search(query) {
  const mine = ++searches;
  const answer = query === '' ? { ids: null } : await api(`/api/search?q=${encodeURIComponent(query)}`);
  if (mine !== searches) return;
  state.shown = answer.ids;
  drawProducts();
}

// The cart.

async function addToCart(product) {
  try {
    state.cart = await api('/api/cart', { product: product.id, quantity: 1 });
    drawCart();
    toast(`${product.name} is in your cart`);
  } catch (error) {
    toast(`${product.name} could not be added: ${error.message}`, 'error');
  }
}

async function removeLine(id) {
  state.cart = await api('/api/cart', { product: id, quantity: 0 });
  drawCart();
}

async function loadCart() {
  state.cart = await api('/api/cart');
  drawCart();
}

function drawCart() {
  const { lines, total } = state.cart;
  $('#cart-count').textContent = lines.reduce((sum, line) => sum + line.quantity, 0);
  $('#cart-lines').replaceChildren(...(lines.length === 0
    ? [h('li', { class: 'empty' }, 'Nothing here yet.')]
    : lines.map((line) => h('li', { class: 'line' },
      h('img', { src: line.image, alt: '' }),
      h('span', {}, `${line.quantity} × ${line.name}`),
      h('span', {}, money(line.price * line.quantity)),
      h('button', { class: 'plain', type: 'button', 'aria-label': `Remove ${line.name}`, onclick: () => removeLine(line.product) }, '✕')))));
  const off = total * state.percentOff / 100;
  const shipping = lines.length === 0 ? 0 : state.shipping;
  $('#totals').replaceChildren(
    h('dt', {}, 'Goods'), h('dd', {}, money(total)),
    ...(off > 0 ? [h('dt', {}, 'Coupon'), h('dd', {}, `− ${money(off)}`)] : []),
    h('dt', {}, 'Shipping'), h('dd', { id: 'shipping' }, shipping === null ? 'to be calculated' : money(shipping)),
    h('dt', { class: 'sum' }, 'Total'), h('dd', { class: 'sum' }, money(total - off + (shipping ?? 0))));
  $('#checkout button').disabled = lines.length === 0;
}

function openCart() {
  $('#cart').showModal();
  estimateShipping();
}

async function applyCoupon(event) {
  event.preventDefault();
  const code = $('#coupon').value.trim().toUpperCase();
  const answer = await api('/api/coupon', { code });
  if (!answer.valid) {
    toast(`Coupon ${code} is not valid`, 'error');
    return;
  }
  state.percentOff = answer.percent;
  drawCart();
  toast(`${answer.percent} % off`);
}

const shippingWorker = new Worker('/shipping.js');
let estimates = 0;

function estimateShipping() {
  if (state.cart.lines.length === 0) return;
  const grams = state.cart.lines.reduce((sum, line) => sum + line.grams * line.quantity, 0);
  shippingWorker.postMessage({ id: ++estimates, country: $('#country').value, grams });
}

shippingWorker.onmessage = ({ data }) => {
  if (data.id !== estimates) return;
  state.shipping = data.cost;
  drawCart();
};

// Checkout.

const rules = {
  name: (value) => (value === '' ? 'Enter the name of the recipient.' : ''),
  email: (value) => (/^\S+@\S+\.\S+$/.test(value) ? '' : 'Enter an address like anna@example.com.'),
  card: (value) => (/^\d{12,19}$/.test(value.replaceAll(' ', '')) ? '' : 'Enter the 12 to 19 digits of the card.'),
};

/** Shows or removes the error of a field, and returns whether the field is valid. */
function checkField(input) {
  const wrong = rules[input.name](input.value.trim());
  const id = `${input.id}-error`;
  document.getElementById(id)?.remove();
  input.removeAttribute('aria-invalid');
  input.removeAttribute('aria-describedby');
  if (wrong === '') return true;
  input.setAttribute('aria-invalid', 'true');
  input.setAttribute('aria-describedby', id);
  input.after(h('span', { id, class: 'field-error' }, wrong));
  return false;
}

async function placeOrder(event) {
  event.preventDefault();
  const inputs = Object.keys(rules).map((name) => $(`#${name}`));
  const wrong = inputs.filter((input) => !checkField(input));
  if (wrong.length > 0) {
    wrong[0].focus();
    return;
  }
  const answer = await api('/api/checkout', { name: $('#name').value, email: $('#email').value, country: $('#country').value });
  state.cart = { lines: [], total: 0 };
  state.percentOff = 0;
  drawCart();
  $('#checkout').reset();
  $('#cart').close();
  toast(`Thank you! Order ${answer.order} is on its way`);
}

// Live stock.

function connectStock(delay = 1000) {
  const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/ws/stock`);
  const setLive = (live) => {
    $('#live').dataset.live = live;
    $('#live span').textContent = live === 'on' ? 'Live stock' : 'Stock as of load';
  };
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    setLive(message.type === 'error' ? 'stale' : 'on');
    if (message.type !== 'stock') return;
    state.stock.set(message.id, message.stock);
    $(`[data-stock="${message.id}"]`)?.replaceWith(stockLabel(message.id));
  };
  socket.onclose = () => {
    setLive('off');
    setTimeout(connectStock, delay, Math.min(2 * delay, 30000));
  };
}

// Currencies come from another origin.

async function loadRates() {
  if (RATES_ORIGIN === '') return;
  try {
    const answer = await (await fetch(`${RATES_ORIGIN}/rates`)).json();
    state.rates = answer.rates;
  } catch {
    // Prices stay in euros.
  }
  $('#currency').replaceChildren(...Object.keys(state.rates).map((code) => h('option', { selected: code === state.currency }, code)));
  document.documentElement.dataset.rated = 'yes';
}

// Reviews load on scroll.

let nextReviews = 1;
let loadingReviews = false;

async function loadReviews() {
  if (nextReviews === null || loadingReviews) return;
  loadingReviews = true;
  const answer = await api(`/api/reviews?page=${nextReviews}`);
  console.debug(`reviews: page ${nextReviews} has ${answer.reviews.length}`);
  nextReviews = answer.next;
  loadingReviews = false;
  $('#reviews').append(...answer.reviews.map((review) => h('li', { class: 'review' },
    h('span', { class: 'stars', role: 'img', 'aria-label': `${review.stars} of 5 stars` }, '★'.repeat(review.stars)),
    h('p', {}, review.text),
    h('footer', { class: 'muted' }, review.author))));
  document.documentElement.dataset.reviews = String($('#reviews').children.length);
  if (nextReviews === null) {
    $('#reviews-end').textContent = 'That is all of them';
    return;
  }
  // An observer reports only changes, so observe again in case the end is still in view.
  scrolled.unobserve($('#reviews-end'));
  scrolled.observe($('#reviews-end'));
}

const scrolled = new IntersectionObserver((entries) => {
  if (entries.some((entry) => entry.isIntersecting)) loadReviews();
}, { rootMargin: '200px' });

// Startup.

$('#query').addEventListener('input', (event) => search(event.currentTarget.value.trim()));
$('.search').addEventListener('submit', (event) => event.preventDefault());
$('#currency').addEventListener('change', (event) => {
  state.currency = event.currentTarget.value;
  drawProducts();
  drawCart();
});
$('#open-cart').addEventListener('click', openCart);
$('#close-cart').addEventListener('click', () => $('#cart').close());
$('#coupon-form').addEventListener('submit', applyCoupon);
$('#country').addEventListener('change', estimateShipping);
$('#checkout').addEventListener('submit', placeOrder);
$('#checkout').addEventListener('change', (event) => {
  if (event.target.hasAttribute('aria-invalid')) checkField(event.target);
});

drawCart();
loadCart();
loadProducts();
loadRates();
connectStock();
scrolled.observe($('#reviews-end'));
