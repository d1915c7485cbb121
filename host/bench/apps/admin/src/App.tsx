import { Admin, EditGuesser, ListGuesser, Resource } from 'react-admin';
import { dataProvider } from './dataProvider';
import { Layout } from './Layout';
import { PostEdit, PostList, PostShow } from './posts';

export const App = () => (
  <Admin layout={Layout} dataProvider={dataProvider} disableTelemetry>
    <Resource name="posts" list={PostList} edit={PostEdit} show={PostShow} recordRepresentation="title" />
    <Resource name="comments" list={ListGuesser} edit={EditGuesser} />
  </Admin>
);
