import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { t } from '../text';
import type { WorkerClient } from './worker-client';

/** Opens the viewer beside the page, and pauses watching. */
export function Viewing({ paused, client }: { paused: boolean; client: WorkerClient }): JSX.Element {
  const window = useSignal<number | undefined>(undefined);
  useEffect(() => {
    // The side panel opens only inside a person's gesture: its window has to be known before.
    if (typeof chrome === 'undefined') return;
    void chrome.windows?.getCurrent().then(({ id }) => {
      window.value = id;
    });
  }, [window]);
  return (
    <section class="viewing">
      <div class="buttons">
        <button
          type="button"
          disabled={window.value === undefined}
          onClick={() => {
            if (window.value !== undefined) void chrome.sidePanel.open({ windowId: window.value });
          }}
        >
          {t('openViewer')}
        </button>
        <button
          type="button"
          class={paused ? 'primary' : undefined}
          aria-pressed={paused}
          onClick={() => void client.pause(!paused)}
        >
          {paused ? t('resume') : t('pause')}
        </button>
      </div>
    </section>
  );
}
