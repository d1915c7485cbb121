// TanStack Table in React: the library has no elements of its own.
import { flexRender, getCoreRowModel, getFilteredRowModel, getPaginationRowModel, getSortedRowModel, useReactTable } from '@tanstack/react-table';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

const data = Array.from({ length: 40 }, (_, i) => ({ id: i + 1, name: `Part ${(i * 11) % 40}`, price: (i * 31) % 97 }));
const columns = ['id', 'name', 'price'].map((key) => ({ accessorKey: key, header: key }));

function Table() {
  const [sorting, setSorting] = useState([]);
  const [globalFilter, setGlobalFilter] = useState('');
  const [chosen, setChosen] = useState({});
  const table = useReactTable({
    data,
    columns,
    state: { sorting, globalFilter, rowSelection: chosen },
    onSortingChange: setSorting,
    onGlobalFilterChange: setGlobalFilter,
    onRowSelectionChange: setChosen,
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
    getFilteredRowModel: getFilteredRowModel(),
    getPaginationRowModel: getPaginationRowModel(),
  });
  return (
    <>
      <input aria-label="Filter" value={globalFilter} onChange={({ target }) => setGlobalFilter(target.value)} />
      <table>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              <th>Chosen</th>
              {group.headers.map((header) => (
                <th key={header.id} aria-sort={{ asc: 'ascending', desc: 'descending' }[header.column.getIsSorted()] ?? 'none'}>
                  <button type="button" onClick={header.column.getToggleSortingHandler()}>
                    {flexRender(header.column.columnDef.header, header.getContext())}
                  </button>
                </th>
              ))}
            </tr>
          ))}
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <tr key={row.id}>
              <td>
                <input type="checkbox" aria-label={`Choose ${row.original.name}`} checked={row.getIsSelected()} onChange={row.getToggleSelectedHandler()} />
              </td>
              {row.getVisibleCells().map((cell) => (
                <td key={cell.id}>{flexRender(cell.column.columnDef.cell, cell.getContext())}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <button type="button" disabled={!table.getCanPreviousPage()} onClick={() => table.previousPage()}>Previous</button>
      <button type="button" disabled={!table.getCanNextPage()} onClick={() => table.nextPage()}>Next</button>
      <select aria-label="Rows" value={table.getState().pagination.pageSize} onChange={({ target }) => table.setPageSize(Number(target.value))}>
        {[5, 10, 20].map((size) => <option key={size}>{size}</option>)}
      </select>
      <p role="status">{Object.keys(chosen).length} chosen</p>
    </>
  );
}

createRoot(document.getElementById('app')).render(<Table />);
