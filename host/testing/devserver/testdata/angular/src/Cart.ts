import { Component, input } from '@angular/core';
import { price } from './price.js';

@Component({ selector: 'app-cart', template: '<p>{{ cart().lines.length }} in the cart, {{ total() }}</p>' })
export class Cart {
  cart = input.required<any>();

  total() {
    return price(this.cart().lines.reduce((sum, line) => sum + line.cents, 0));
  }
}
