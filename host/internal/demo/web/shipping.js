'use strict';

// This worker calculates the shipping cost of a cart, so that the page never waits for it.
const zones = {
  DE: { base: 4.9, perKilo: 0.6, days: 2 },
  DK: { base: 7.5, perKilo: 0.9, days: 3 },
  PT: { base: 9.9, perKilo: 1.4, days: 5 },
  US: { base: 24, perKilo: 6.5, days: 9 },
};

function estimate(country, grams) {
  const zone = zones[country];
  const kilos = Math.ceil(grams / 1000);
  return { cost: zone.base + zone.perKilo * kilos, days: zone.days };
}

self.onmessage = ({ data }) => {
  self.postMessage({ id: data.id, ...estimate(data.country, data.grams) });
};
