/** Watches whether a worker does its work. `/healthz`, `/readyz` and the gauges report the result. */
import type { Logger } from 'pino';
import { commandLine } from '../../platform/core/modules.ts';
import type { TaskQueue } from '../../platform/engine/workflow-types.ts';
import type { Build } from '../../platform/infra/build.ts';
import { watchClock } from '../../platform/infra/postgres/checks/clock-watch.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import type { Ffmpeg } from '../../platform/infra/video/ffmpeg.ts';
import type { Health } from './health.ts';
import { registerBacklogGauges, registerFfmpegGauge } from './metrics.ts';
import { watchPromotion } from './promotion-watch.ts';
import { watchSweeps } from './sweep-watch.ts';

interface Watched {
  db: Database;
  served: readonly TaskQueue[];
  build: Build | undefined;
  ffmpeg: Ffmpeg;
  isWorking: () => boolean;
  log: Logger;
}

/** @returns the health of the worker; after `stop` the worker is not ready any more */
export function watchWorker({ db, served, build, ffmpeg, isWorking, log }: Watched): Health & { stop(): void } {
  const servesMedia = served.includes('media');
  const promotion = watchPromotion(db, build?.buildId, () =>
    log.error(`this build was not promoted within a minute, so it gets no work: run "${commandLine('promote')}"`),
  );
  const sweeps = watchSweeps(db);
  const clock = watchClock(db, log);
  const unregisterGauges = registerBacklogGauges(db, sweeps);
  const unregisterFfmpegGauge = servesMedia ? registerFfmpegGauge(ffmpeg) : () => {};
  let isStopped = false;
  const isSweptInTime = () => !served.includes('upkeep') || sweeps.isInTime();
  return {
    state: () => ({ status: 'ok', ...(servesMedia && { ffmpeg: stateOf(ffmpeg) }) }),
    notReady() {
      if (!promotion.isInTime()) return { reason: 'not_promoted' };
      const isReady = !isStopped && isWorking() && isSweptInTime() && clock.isRight();
      return isReady ? undefined : {};
    },
    stop() {
      isStopped = true;
      sweeps.stop();
      clock.stop();
      promotion.stop();
      unregisterGauges();
      unregisterFfmpegGauge();
    },
  };
}

/** @returns the state of ffmpeg for `/healthz`; `unusable` means that the program exists but makes no renditions */
function stateOf({ isThere, finding }: Ffmpeg): 'there' | 'missing' | 'unusable' {
  if (isThere === true) return 'there';
  return finding?.file === undefined ? 'missing' : 'unusable';
}
