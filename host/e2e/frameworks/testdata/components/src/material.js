// Material Web: custom elements whose native fields are in shadow roots.
import '@material/web/button/filled-button.js';
import '@material/web/checkbox/checkbox.js';
import '@material/web/chips/chip-set.js';
import '@material/web/chips/filter-chip.js';
import '@material/web/dialog/dialog.js';
import '@material/web/list/list.js';
import '@material/web/list/list-item.js';
import '@material/web/menu/menu.js';
import '@material/web/menu/menu-item.js';
import '@material/web/radio/radio.js';
import '@material/web/slider/slider.js';
import '@material/web/switch/switch.js';
import '@material/web/tabs/primary-tab.js';
import '@material/web/tabs/tabs.js';
import '@material/web/textfield/filled-text-field.js';

document.getElementById('app').innerHTML = `
  <md-tabs aria-label="Views"><md-primary-tab>Photos</md-primary-tab><md-primary-tab>Videos</md-primary-tab></md-tabs>
  <md-filled-text-field label="Name" value="Ada"></md-filled-text-field>
  <label><md-checkbox touch-target="wrapper"></md-checkbox>Agree</label>
  <md-radio name="size" aria-label="Small"></md-radio><md-radio name="size" aria-label="Large"></md-radio>
  <md-switch aria-label="Night"></md-switch><md-slider aria-label="Volume" value="40"></md-slider>
  <md-chip-set aria-label="Filters"><md-filter-chip label="New"></md-filter-chip><md-filter-chip label="Used"></md-filter-chip></md-chip-set>
  <md-list><md-list-item type="button">First</md-list-item><md-list-item type="button">Second</md-list-item></md-list>
  <span style="position:relative"><md-filled-button id="menu">Menu</md-filled-button><md-menu anchor="menu" quick><md-menu-item><div slot="headline">Copy</div></md-menu-item><md-menu-item><div slot="headline">Paste</div></md-menu-item></md-menu></span>
  <md-filled-button id="open">Open</md-filled-button>
  <md-dialog quick><div slot="headline">Sure?</div><div slot="actions"><md-filled-button id="close">Close</md-filled-button></div></md-dialog>`;
const [menu, dialog] = [document.querySelector('md-menu'), document.querySelector('md-dialog')];
document.getElementById('menu').addEventListener('click', () => { menu.open = !menu.open; });
document.getElementById('open').addEventListener('click', () => dialog.show());
document.getElementById('close').addEventListener('click', () => dialog.close());
