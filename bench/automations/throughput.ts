/** Measures runs and steps a second, from the commit of the facts to the end of the runs. The bare engine runs as many empty activities. */
import type { Step } from '../../domain/automations/versions/definition.policy.ts';
import type { Id } from '../../platform/core/ids.ts';
import { progress, reportBeside, type Round } from '../support.ts';
import type { Scene } from '../webhooks/scene.ts';
import { bareEngine } from '../webhooks/throughput.ts';
import { addTag, clubOf, publish, tellTagged, untilRuns, type AutomationClub, type Published } from './scene.ts';

const rounds = 3;
const clubs = 10;
/** The runs of a round, over all clubs. */
const [shortRuns, longRuns] = [500, 100];
const stepsOfLong = 12;

interface Prepared {
  club: AutomationClub;
  short: Published;
  long: Published;
}

export async function measureThroughput({ db, vault, launch }: Scene): Promise<void> {
  const prepared: Prepared[] = [];
  for (let nth = 0; nth < clubs; nth++) {
    const club = await clubOf({ db, vault }, shortRuns / clubs);
    const tag = await addTag(db.source, club.clubId);
    prepared.push({
      club,
      short: await publish({ db, vault }, club.clubId, [{ id: 'points', kind: 'award_points', points: 1 }]),
      long: await publish({ db, vault }, club.clubId, longWay(tag)),
    });
  }
  const { port, child } = await launch('bench/ceiling/worker.ts', 'CEILING_PORT');
  let ended = { short: 0, long: 0 };

  /** @returns runs a second */
  async function runAll(which: 'short' | 'long', count: number): Promise<number> {
    const started = performance.now();
    for (const { club, ...automations } of prepared) {
      const studentIds = club.studentIds.slice(0, count / clubs);
      await tellTagged(db, { ...club, studentIds }, automations[which].tagId);
    }
    ended = { ...ended, [which]: ended[which] + count };
    const automations = prepared.map((one) => one[which]);
    await untilRuns(db, automations, { count: ended[which], where: `status = 'completed'`, timeoutMs: 300_000 });
    return (count * 1_000) / (performance.now() - started);
  }

  await runAll('short', 100);
  await bareEngine(port, 100, 1);
  const enrollments: Round[] = [];
  const steps: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    const short = { ours: await runAll('short', shortRuns), bare: await bareEngine(port, shortRuns, 1) };
    const long = { ours: await runAll('long', longRuns), bare: await bareEngine(port, longRuns, stepsOfLong) };
    enrollments.push(short);
    steps.push({ ours: long.ours * stepsOfLong, bare: long.bare * stepsOfLong });
    progress(
      `round ${round} of ${rounds}: ${short.ours.toFixed(1)} runs of one step/s beside ${short.bare.toFixed(1)}, ` +
        `${steps.at(-1)?.ours.toFixed(1)} steps/s beside ${steps.at(-1)?.bare.toFixed(1)}`,
    );
  }
  await child.stop();
  reportBeside('enrollments/s, each with one step', enrollments);
  reportBeside(`steps/s of runs with ${stepsOfLong} steps`, steps);
}

/** These twelve steps have no wait and no mail. */
function longWay(tag: Id): Step[] {
  const condition = { match: 'all', rules: [{ kind: 'has_tag', negate: false, tag_ids: [tag] }] } as const;
  return Array.from({ length: stepsOfLong / 4 }, (_, nth): Step[] => [
    { id: `put ${nth}`, kind: 'add_tag', tag_id: tag },
    { id: `points ${nth}`, kind: 'award_points', points: 1 },
    {
      id: `has ${nth}`,
      kind: 'condition',
      condition,
      then: [{ id: `take ${nth}`, kind: 'remove_tag', tag_id: tag }],
    },
  ]).flat();
}
