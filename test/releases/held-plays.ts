/** Plays each scenario of test/replay only until its run would begin. A row that waits for the run then remains in the database. */
import { nothingInjected, type Play, type Recorder } from '../replay/recorder.ts';

class Held extends Error {
  override name = 'Held';
}

const hold = (): Promise<never> => Promise.reject(new Held());

/** A receiver at an invented address. No process listens there. */
const receiver = { url: 'https://receiver.example.com/hooks' } as Awaited<
  ReturnType<Recorder['delivering']['receiver']>
>;

const relay = { serve() {}, carry: hold, carryingAfterEach: <T extends object>(activities: T) => activities };

/** Replaces the servers that a scenario uses. The replacements stop the scenario at the moment when it would start a run. */
const holding: Recorder = {
  temporal: { start: hold } as unknown as Recorder['temporal'],
  by: { start: hold, signalWithStart: hold, startOrSignal: hold },
  runOf: () => {
    throw new Held();
  },
  skipped: { now: () => Promise.resolve(new Date()), start: hold },
  relays: { real: relay, skipped: relay },
  delivering: {
    deps: () => {
      throw new Held();
    },
    receiver: () => Promise.resolve(receiver),
  },
  model: () => ({ next() {} }) as unknown as ReturnType<Recorder['model']>,
  injected: nothingInjected(),
};

/** Plays a scenario until it would start a run or wait for a run. */
export async function playUntilHeld(play: Play): Promise<void> {
  try {
    await play({ ...holding, injected: nothingInjected() });
  } catch (error) {
    if (!(error instanceof Held)) throw error;
  }
}
