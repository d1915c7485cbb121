// Shoelace: custom elements with open shadow roots.
import '@shoelace-style/shoelace/dist/components/button/button.js';
import '@shoelace-style/shoelace/dist/components/checkbox/checkbox.js';
import '@shoelace-style/shoelace/dist/components/details/details.js';
import '@shoelace-style/shoelace/dist/components/dialog/dialog.js';
import '@shoelace-style/shoelace/dist/components/input/input.js';
import '@shoelace-style/shoelace/dist/components/option/option.js';
import '@shoelace-style/shoelace/dist/components/radio/radio.js';
import '@shoelace-style/shoelace/dist/components/radio-group/radio-group.js';
import '@shoelace-style/shoelace/dist/components/select/select.js';
import '@shoelace-style/shoelace/dist/components/switch/switch.js';
import '@shoelace-style/shoelace/dist/components/tab/tab.js';
import '@shoelace-style/shoelace/dist/components/tab-group/tab-group.js';
import '@shoelace-style/shoelace/dist/components/tab-panel/tab-panel.js';
import '@shoelace-style/shoelace/dist/components/tree/tree.js';
import '@shoelace-style/shoelace/dist/components/tree-item/tree-item.js';
import '@shoelace-style/shoelace/dist/themes/light.css';

document.getElementById('app').innerHTML = `
  <sl-tab-group><sl-tab slot="nav" panel="one">General</sl-tab><sl-tab slot="nav" panel="two">More</sl-tab>
    <sl-tab-panel name="one"><sl-input label="Name" value="Ada"></sl-input><sl-checkbox>Agree</sl-checkbox><sl-switch>Night</sl-switch></sl-tab-panel>
    <sl-tab-panel name="two"><sl-radio-group label="Size" value="1"><sl-radio value="1">Small</sl-radio><sl-radio value="2">Large</sl-radio></sl-radio-group></sl-tab-panel></sl-tab-group>
  <sl-details summary="Delivery"><sl-button>Track</sl-button></sl-details>
  <sl-select label="Colour"><sl-option value="r">Red</sl-option><sl-option value="g">Green</sl-option></sl-select>
  <sl-tree><sl-tree-item>Trees<sl-tree-item>Oak</sl-tree-item><sl-tree-item>Elm</sl-tree-item></sl-tree-item><sl-tree-item>Birds</sl-tree-item></sl-tree>
  <sl-button id="open">Open</sl-button><sl-dialog label="Sure?"><sl-button id="close">Close</sl-button></sl-dialog>`;
const dialog = document.querySelector('sl-dialog');
document.getElementById('open').addEventListener('click', () => dialog.show());
document.getElementById('close').addEventListener('click', () => dialog.hide());
