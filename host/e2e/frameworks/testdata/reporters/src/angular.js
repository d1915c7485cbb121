import '@angular/compiler';
import { Component, provideZonelessChangeDetection } from '@angular/core';
import { bootstrapApplication } from '@angular/platform-browser';
import { pay } from './cart.js';

class Shop {
  pay() {
    pay();
  }
}
Component({ selector: 'main', template: '<button (click)="pay()">Pay</button>' })(Shop);

bootstrapApplication(Shop, { providers: [provideZonelessChangeDetection()] });
