import {
  Button,
  Datagrid,
  Edit,
  List,
  NumberField,
  Show,
  SimpleForm,
  SimpleShowLayout,
  TextField,
  TextInput,
  TopToolbar,
  useNotify,
  useRecordContext,
  useRefresh,
} from 'react-admin';

export const PostList = () => (
  <List>
    <Datagrid rowClick="show" bulkActionButtons={false}>
      <TextField source="id" />
      <TextField source="title" />
      <TextField source="status" />
      <NumberField source="views" />
    </Datagrid>
  </List>
);

const PublishButton = () => {
  const record = useRecordContext();
  const notify = useNotify();
  const refresh = useRefresh();
  if (!record) return null;
  const publish = async () => {
    const answer = await fetch(`/api/posts/${record.id}/publish`, { method: 'POST' });
    if (!answer.ok) {
      notify('The post could not be published', { type: 'error' });
      return;
    }
    notify('Published');
    refresh();
  };
  return <Button label="Publish" onClick={publish} />;
};

async function change(id: unknown, version: number, values: object) {
  const answer = await fetch(`/api/posts/${id}`, {
    method: 'PATCH',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...values, version }),
  });
  if (!answer.ok) throw new Error(`The change was refused with ${answer.status}`);
  return answer.json();
}

const ArchiveButton = () => {
  const record = useRecordContext();
  const notify = useNotify();
  const refresh = useRefresh();
  if (!record) return null;
  const archive = async () => {
    const { version } = await change(record.id, record.version, { status: 'archived' });
    await change(record.id, version, { views: 0 });
    notify('Archived');
    refresh();
  };
  return <Button label="Archive" onClick={archive} />;
};

const Actions = () => (
  <TopToolbar>
    <ArchiveButton />
    <PublishButton />
  </TopToolbar>
);

export const PostShow = () => (
  <Show actions={<Actions />}>
    <SimpleShowLayout>
      <TextField source="title" />
      <TextField source="body" />
      <TextField source="status" />
      <NumberField source="views" />
    </SimpleShowLayout>
  </Show>
);

export const PostEdit = () => (
  <Edit>
    <SimpleForm>
      <TextInput source="title" />
      <TextInput source="body" multiline />
    </SimpleForm>
  </Edit>
);
