// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ContentEvent, FromContent } from '../messages';
import { Recorder } from './recorder';

let ending: AbortController;
let recorder: Recorder;
let posted: FromContent[];
let lineOpen: boolean;

beforeEach(() => {
  ending = new AbortController();
  posted = [];
  lineOpen = true;
  recorder = new Recorder(
    window,
    (message) => {
      if (lineOpen) posted.push(structuredClone(message));
      return lineOpen;
    },
    ending.signal,
  );
  recorder.connected();
});
afterEach(() => {
  ending.abort();
  document.body.innerHTML = '';
});

function addError(text: string): HTMLElement {
  const error = document.createElement('p');
  error.className = 'error';
  error.textContent = text;
  document.body.appendChild(error);
  return error;
}

/** The element events that the worker got since the last call. */
function heard(): string[] {
  return posted
    .splice(0)
    .flatMap((message): ContentEvent[] => (message.t === 'events' ? message.events : []))
    .map((event) => (event.kind === 'element' ? `${event.op} ${event.id} ${event.text}` : event.action));
}

describe('a recorder', () => {
  it('does nothing until the worker says so', () => {
    addError('One');
    recorder.flush();
    expect(posted).toEqual([]);
    recorder.take({ t: 'watch', on: true, mask: '[masked]' });
    expect(heard()).toEqual(['appeared 1 One']);
  });

  it('answers a flush after what it brought, and though it records nothing', () => {
    recorder.take({ t: 'flush', id: 1 });
    recorder.take({ t: 'watch', on: true, mask: '[masked]' });
    addError('One');
    recorder.take({ t: 'flush', id: 2 });
    expect(posted.map((message) => (message.t === 'flushed' ? message.id : message.t))).toEqual([
      1,
      'events',
      2,
    ]);
  });

  it('switched off says nothing more, and on again tells what has come and gone meanwhile', () => {
    recorder.take({ t: 'watch', on: true, mask: '[masked]' });
    addError('One');
    const leaves = addError('Leaves');
    recorder.flush();
    recorder.take({ t: 'watch', on: false, mask: '[masked]' });
    addError('Two');
    leaves.remove();
    recorder.flush();
    expect(heard()).toEqual(['appeared 1 One', 'appeared 2 Leaves']);
    recorder.take({ t: 'watch', on: true, mask: '[masked]' });
    expect(heard()).toEqual(['gone 2 Leaves', 'appeared 4 Two']);
  });

  it('goes on while the worker restarts, and tells the new one what is shown and what it missed', () => {
    recorder.take({ t: 'watch', on: true, mask: '[masked]' });
    addError('Stays');
    const leaves = addError('Leaves');
    recorder.flush();
    heard();

    lineOpen = false;
    leaves.remove();
    const blink = addError('Blinks');
    recorder.flush();
    blink.remove();
    addError('Comes');
    recorder.flush();
    expect(posted).toEqual([]);

    lineOpen = true;
    recorder.connected();
    addError('Waits for the word');
    recorder.flush();
    expect(posted).toEqual([]);
    recorder.take({ t: 'watch', on: true, mask: '[masked]' });
    expect(heard()).toEqual([
      'appeared 1 Stays',
      'appeared 4 Comes',
      'appeared 5 Waits for the word',
      'appeared 3 Blinks',
      'gone 3 Blinks',
    ]);
  });

  it('forgets what it kept when the new worker does not want it', () => {
    recorder.take({ t: 'watch', on: true, mask: '[masked]' });
    lineOpen = false;
    addError('One');
    recorder.flush();
    lineOpen = true;
    recorder.connected();
    recorder.take({ t: 'watch', on: false, mask: '[masked]' });
    expect(posted).toEqual([]);
    recorder.take({ t: 'watch', on: true, mask: '[masked]' });
    expect(heard()).toEqual(['appeared 2 One']);
  });
});
