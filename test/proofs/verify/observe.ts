/**
 * Verifies monitoring. In tests of the alert rules, each alert must fire when the part that it watches is broken. Some alerts must also
 * fire for the real service.
 */
import { alerts } from '../../../dev/alerts/rules-file.ts';
import { Problem } from '../../../dev/problem.ts';
import { progress } from '../faults/progress.ts';
import { runRuleTests } from './observe/rule-tests.ts';
import { watchService } from './observe/service.ts';
import { ensureDebianPrograms } from './programs.ts';
import type { Site } from './site.ts';

export async function verifyObserve(site: Site): Promise<string> {
  await ensureDebianPrograms(['prometheus']); // the package of Prometheus also contains promtool
  const tested = await runRuleTests(site.directory);
  progress(`rule tests: fired ${tested.fired.length}, false ${tested.false.length}`);
  const inService = await watchService(site);
  progress(`in the real service: fired ${inService.fired.length}, false ${inService.false.length}`);

  const wrong = [...new Set([...tested.false, ...inService.false])];
  const line = `alerts ${Object.keys(alerts).length}: fired ${tested.fired.length}, false ${wrong.length}`;
  if (wrong.length > 0) throw new Problem(`${line} (${wrong.join(', ')})`);
  if (tested.fired.length < Object.keys(alerts).length) throw new Problem(line);
  return line;
}
