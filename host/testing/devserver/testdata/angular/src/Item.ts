import { Component, input, output } from '@angular/core';
import { price } from './price.js';

@Component({ selector: 'app-item', templateUrl: './Item.html' })
export class Item {
  item = input.required<any>();
  add = output();
  price = price;
}
