// AG Grid: sorted, filtered, edited and selected in place; of its rows only those in view are elements.
import { AllCommunityModule, createGrid, ModuleRegistry } from 'ag-grid-community';

ModuleRegistry.registerModules([AllCommunityModule]);
const towns = ['Aachen', 'Bonn', 'Celle', 'Dresden', 'Erfurt', 'Fulda', 'Goslar'];
createGrid(document.getElementById('app'), {
  rowData: Array.from({ length: 60 }, (_, i) => ({ id: i + 1, town: towns[(i * 5) % 7], price: (i * 37) % 101, sold: i % 3 === 0 })),
  columnDefs: [
    { field: 'id', headerName: 'Number' },
    { field: 'town', headerName: 'Town', filter: true, editable: true },
    { field: 'price', headerName: 'Price', filter: true, editable: true },
    { field: 'sold', headerName: 'Sold' },
  ],
  rowSelection: { mode: 'multiRow' },
  pagination: true,
  paginationPageSize: 20,
  animateRows: false,
});
