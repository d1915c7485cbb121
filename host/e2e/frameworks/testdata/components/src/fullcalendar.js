// FullCalendar: months, weeks and days of a year that does not depend on the clock.
import 'temporal-polyfill/global';
import { Calendar } from 'fullcalendar';
import dayGrid from 'fullcalendar/daygrid';
import interaction from 'fullcalendar/interaction';
import list from 'fullcalendar/list';
import 'fullcalendar/skeleton.css';
import classic from 'fullcalendar/themes/classic';
import 'fullcalendar/themes/classic/palette.css';
import 'fullcalendar/themes/classic/theme.css';
import timeGrid from 'fullcalendar/timegrid';

const said = document.createElement('p');
said.setAttribute('role', 'status');
new Calendar(document.getElementById('app'), {
  plugins: [dayGrid, timeGrid, list, interaction, classic],
  initialView: 'dayGridMonth',
  initialDate: '2026-03-10',
  headerToolbar: { left: 'prev,next', center: 'title', right: 'dayGridMonth,timeGridWeek,listWeek' },
  navLinks: true,
  selectable: true,
  events: Array.from({ length: 12 }, (_, i) => ({ title: `Meeting ${i + 1}`, start: `2026-03-${String(2 * i + 1).padStart(2, '0')}`, url: `#meeting-${i + 1}` })),
  dateClick: ({ dateStr }) => {
    said.textContent = `Chosen ${dateStr}`;
  },
}).render();
document.body.append(said);
