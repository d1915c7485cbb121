// Prints what Playwright's ariaSnapshot says of pages, as JSON.
//
//   node oracle.mjs CHROMIUM URL…

import { chromium } from 'playwright-core';

const [executablePath, ...urls] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
const said = {};
for (const url of urls) {
  await page.goto(url);
  said[url] = await page.locator('body').ariaSnapshot();
}
await browser.close();
process.stdout.write(JSON.stringify(said));
