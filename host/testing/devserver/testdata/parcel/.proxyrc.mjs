import { api } from './api.mjs';

export default (app) => app.use('/api', api);
