/** What the host says in numbers and codes, in a person's words. */
import type { Action, GapSpan } from '../../../extension/report';
import { type TextKey, t } from '../../../extension/text';
import { hour } from './format';

/** What a person did, in words. */
export function actionWords({ type, target, value }: Pick<Action, 'type' | 'target' | 'value'>): string {
  const of = target || t('something');
  switch (type) {
    case 'click':
      return t('actionClick', of);
    case 'type':
      return value ? t('actionType', value, of) : t('actionTypeSomething', of);
    case 'select':
      return value ? t('actionSelect', value, of) : t('actionTypeSomething', of);
    case 'navigate':
      return t('actionNavigate', of);
    case 'reload':
      return t('actionReload', of);
    case 'submit':
      return t('actionSubmit', of);
    case 'key':
      return t('actionKey', value ?? '', of);
    default:
      return [type, of, value].filter(Boolean).join(' ');
  }
}

const FILE_CHANGES: Readonly<Record<string, TextKey>> = {
  added: 'fileAdded',
  modified: 'fileModified',
  removed: 'fileRemoved',
  renamed: 'fileRenamed',
};

/** What became of a file. */
export function fileChangeWords(change: string): string {
  const key = FILE_CHANGES[change];
  return key === undefined ? change : t(key);
}

const GAPS: Readonly<Record<string, TextKey>> = {
  late_attach: 'gapLateAttach',
  worker_restart: 'gapWorkerRestart',
  detached: 'gapDetached',
  dropped: 'gapDropped',
  capture_failed: 'gapCaptureFailed',
  disconnected: 'gapDisconnected',
  malformed: 'gapMalformed',
  browser_ended: 'gapBrowserEnded',
  no_browser: 'gapNoBrowser',
  journal_damaged: 'gapJournalDamaged',
  not_replayed: 'gapNotReplayed',
  worker_unseen: 'gapWorkerUnseen',
  shared_worker_unseen: 'gapSharedWorkerUnseen',
  service_worker_unseen: 'gapServiceWorkerUnseen',
  paused: 'gapPaused',
};

/** Why something was not observed. */
export function gapWords(reason: string): string {
  const key = GAPS[reason];
  return key === undefined ? reason.replaceAll('_', ' ') : t(key);
}

/** When something was not observed. */
export function gapTime({ from, to }: GapSpan): string {
  return `${hour(Date.parse(from))}–${to == null ? t('now') : hour(Date.parse(to))}`;
}

/** In which tabs; "" where that goes without saying. */
export function gapTabs({ tab, tabs }: GapSpan): string {
  if (tabs !== undefined) return t('tabNumbers', tabs.join(', '));
  return tab === undefined ? '' : t('tabNumber', tab);
}
