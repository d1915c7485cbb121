// Leaflet: markers on a map without tiles, which would come from elsewhere.
import L from 'leaflet';
import 'leaflet/dist/leaflet.css';

const map = L.map('app', { zoomAnimation: false, fadeAnimation: false, markerZoomAnimation: false, inertia: false }).setView([50.1, 8.7], 8);
const icon = L.divIcon({ className: 'pin', html: '•', iconSize: [14, 14] });
const towns = [['Bonn', 50.73, 7.1], ['Fulda', 50.55, 9.68], ['Mainz', 49.99, 8.25], ['Worms', 49.63, 8.36]];
const markers = towns.map(([name, lat, lng]) => L.marker([lat, lng], { icon, title: name, alt: name, keyboard: true }).bindPopup(`<b>${name}</b> <a href="#${name}">Details</a>`));
const group = L.layerGroup(markers).addTo(map);
L.control.layers({}, { Towns: group }, { collapsed: false }).addTo(map);
