import { describe, expect, it } from 'vitest';
import { MonotonicClock } from './context';

const START = 1_795_213_240_000;
const HOUR = 3_600_000;

/** A machine whose monotonic clock, which the debugger reads, stands still while it is suspended. */
class Machine {
  wall = START;
  monotonic = 500;
  readonly clock = new MonotonicClock(() => this.wall);

  run(ms: number): void {
    this.wall += ms;
    this.monotonic += ms / 1000;
  }

  suspend(ms: number): void {
    this.wall += ms;
  }

  request(): number {
    this.clock.learn(this.monotonic, this.wall / 1000);
    return this.clock.at(this.monotonic);
  }

  /** An event that arrives some time after it happened. */
  event(late = 0): number {
    const { monotonic } = this;
    this.run(late);
    return this.clock.at(monotonic);
  }
}

describe('the times of the debugger', () => {
  it('are the present before a request has begun', () => {
    expect(new Machine().event()).toBe(START);
  });

  it('are those at which something happened, however late it arrives', () => {
    const machine = new Machine();
    expect(machine.request()).toBe(START);
    machine.run(2000);
    expect(machine.event(1500)).toBe(START + 2000);
    machine.run(HOUR);
    expect(machine.event(3000)).toBe(START + 3500 + HOUR);
  });

  it('are those after the machine was suspended, without another request', () => {
    const machine = new Machine();
    machine.request();
    machine.run(1000);
    machine.suspend(8 * HOUR);
    machine.run(200);
    expect(machine.event()).toBe(START + 1200 + 8 * HOUR);
    machine.run(300);
    expect(machine.event(100)).toBe(START + 1500 + 8 * HOUR);
    machine.run(60_000);
    machine.suspend(HOUR);
    expect(machine.event()).toBe(machine.wall);
    machine.run(500);
    expect(machine.request()).toBe(machine.wall);
    machine.run(500);
    expect(machine.event(50)).toBe(machine.wall - 50);
  });

  it('are not those of a backlog that the worker is late with', () => {
    const machine = new Machine();
    const times = [0, 1000, 2000].map((ms) => ({ monotonic: 500 + ms / 1000, at: START + ms }));
    machine.run(9000);
    machine.clock.learn(500, START / 1000);
    for (const { monotonic, at } of times) expect(machine.clock.at(monotonic)).toBe(at);
    machine.run(1000);
    expect(machine.event()).toBe(START + 10_000);
  });
});
