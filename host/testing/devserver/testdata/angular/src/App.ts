import { Component, effect, signal } from '@angular/core';
import { items } from './api.js';
import { Cart } from './Cart';
import { add, empty } from './cart.js';
import { Item } from './Item';
import { title } from './title.js';

@Component({ selector: 'app-shop', imports: [Cart, Item], templateUrl: './App.html' })
export class App {
  list = signal([]);
  cart = signal(empty);

  constructor() {
    items().then((list: any) => this.list.set(list));
    effect(() => {
      document.title = title(this.list().length);
    });
  }

  put(item) {
    this.cart.set(add(this.cart(), item));
  }
}
