'use strict';

// The line above the header is a separate script, so that marketing can change it without a release.
(() => {
  const line = document.querySelector('#promo');
  line.textContent = 'Coupon TIDE10 takes 10 % off until the tide turns.';
  line.hidden = false;
})();
