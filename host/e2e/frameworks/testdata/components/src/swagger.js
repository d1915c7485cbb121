// Swagger UI: operations that unfold, with forms.
import ui from 'swagger-ui-dist/swagger-ui-bundle.js';
import 'swagger-ui-dist/swagger-ui.css';

const get = (summary) => ({
  summary,
  tags: [summary.split(' ')[1]],
  parameters: [
    { name: 'limit', in: 'query', schema: { type: 'integer' } },
    { name: 'order', in: 'query', schema: { type: 'string', enum: ['up', 'down'] } },
  ],
  responses: { 200: { description: 'Done', content: { 'application/json': { schema: { $ref: '#/components/schemas/Order' } } } } },
});
ui({
  dom_id: '#app',
  validatorUrl: null,
  spec: {
    openapi: '3.0.3',
    info: { title: 'Shop', version: '1.0' },
    paths: { '/orders': { get: get('List orders') }, '/orders/{id}': { get: get('Read orders') }, '/clients': { get: get('List clients') } },
    components: { schemas: { Order: { type: 'object', properties: { id: { type: 'integer' }, items: { type: 'array', items: { type: 'string' } } } } } },
  },
});
