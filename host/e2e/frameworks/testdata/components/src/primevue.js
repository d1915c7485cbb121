// PrimeVue: a table, and fields that open lists.
import Aura from '@primeuix/themes/aura';
import Button from 'primevue/button';
import Checkbox from 'primevue/checkbox';
import Column from 'primevue/column';
import PrimeVue from 'primevue/config';
import DataTable from 'primevue/datatable';
import InputText from 'primevue/inputtext';
import Select from 'primevue/select';
import Tab from 'primevue/tab';
import TabList from 'primevue/tablist';
import TabPanel from 'primevue/tabpanel';
import TabPanels from 'primevue/tabpanels';
import Tabs from 'primevue/tabs';
import { createApp, h, ref } from 'vue';

const rows = Array.from({ length: 24 }, (_, i) => ({ id: i + 1, name: `Part ${(i * 7) % 24}`, price: (i * 31) % 97 }));
const App = {
  setup() {
    const chosen = ref();
    const tab = ref('0');
    const agreed = ref(false);
    const name = ref('Ada');
    return () => [
      h(DataTable, { value: rows, paginator: true, rows: 8, dataKey: 'id' }, () => [
        h(Column, { field: 'id', header: 'Number', sortable: true }),
        h(Column, { field: 'name', header: 'Name', sortable: true }),
        h(Column, { field: 'price', header: 'Price', sortable: true }),
      ]),
      h(Select, { modelValue: chosen.value, 'onUpdate:modelValue': (value) => { chosen.value = value; }, options: ['Red', 'Green', 'Blue'], placeholder: 'Colour', 'aria-label': 'Colour' }),
      h(Checkbox, { modelValue: agreed.value, 'onUpdate:modelValue': (value) => { agreed.value = value; }, binary: true, 'aria-label': 'Agree' }),
      h(InputText, { modelValue: name.value, 'onUpdate:modelValue': (value) => { name.value = value; }, 'aria-label': 'Name' }),
      h(Tabs, { value: tab.value, 'onUpdate:value': (value) => { tab.value = value; } }, () => [
        h(TabList, null, () => [h(Tab, { value: '0' }, () => 'First'), h(Tab, { value: '1' }, () => 'Second')]),
        h(TabPanels, null, () => [h(TabPanel, { value: '0' }, () => h(Button, { label: 'In the first' })), h(TabPanel, { value: '1' }, () => h(Button, { label: 'In the second' }))]),
      ]),
    ];
  },
};
createApp(App).use(PrimeVue, { theme: { preset: Aura } }).mount('#app');
