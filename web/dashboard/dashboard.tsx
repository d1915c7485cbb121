import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { ViewerModel } from '../ui/viewer/model';
import { Viewer } from '../ui/viewer/viewer';
import type { HttpClient } from './http-client';
import { SignInPage } from './sign-in-page';

/** The viewer, for as long as the session lasts. */
export function Dashboard({ client }: { client: HttpClient }): JSX.Element {
  const model = useMemo(() => new ViewerModel(client), [client]);
  const { state, text } = client.connection.value;
  if (state === 'refused') return <SignInPage text={text} />;
  return <Viewer model={model} />;
}
