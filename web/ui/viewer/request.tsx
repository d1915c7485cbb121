/** A request as it was captured. */
import type { JSX } from 'preact';
import type { ViewEntry } from '../../../extension/protocol';
import { t } from '../../../extension/text';
import { size } from './format';

/** A status, or why there is none. */
export function Status({ status, error }: { status: number; error?: string | undefined }): JSX.Element {
  const bad = status >= 400 || status === 0;
  return (
    <span class={bad ? 'status bad' : 'status good'}>{status === 0 ? error || t('noAnswer') : status}</span>
  );
}

/** A request and its response, with headers and bodies. */
export function Request({ entry }: { entry: ViewEntry }): JSX.Element {
  return (
    <div class="request">
      <p class="url">{entry.url}</p>
      {entry.error !== undefined && entry.error !== '' && <p class="problem">{entry.error}</p>}
      <Headers title={t('requestHeaders')} headers={entry.request_headers} />
      <Body title={t('requestBody')} text={entry.request_body} />
      <Headers title={t('responseHeaders')} headers={entry.response_headers} />
      <Body title={t('responseBody')} text={entry.response_body} />
      {entry.body_note !== undefined && <p class="quiet">{entry.body_note}</p>}
    </div>
  );
}

function Headers({
  title,
  headers,
}: {
  title: string;
  headers: Record<string, string> | undefined;
}): JSX.Element | null {
  const list = Object.entries(headers ?? {});
  if (list.length === 0) return null;
  return (
    <details>
      <summary>
        {title} <span class="quiet">{list.length}</span>
      </summary>
      <dl class="headers">
        {list.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

function Body({ title, text }: { title: string; text: string | undefined }): JSX.Element | null {
  if (text === undefined || text === '') return null;
  return (
    <details open={text.length < 2000}>
      <summary>
        {title} <span class="quiet">{size(text.length)}</span>
      </summary>
      <pre class="body">{pretty(text)}</pre>
    </details>
  );
}

/** JSON in lines; anything else as it is. */
export function pretty(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
