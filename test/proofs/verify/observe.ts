/** What operators watch, proven: each alert fires where its object is broken, in the rules' own tests and some in the real service. */
import { alerts } from '../../../dev/alerts/rules-file.ts';
import { Problem } from '../../../dev/problem.ts';
import { progress } from '../faults/progress.ts';
import { runRuleTests } from './observe/rule-tests.ts';
import { watchService } from './observe/service.ts';
import { ensureDebianPrograms } from './programs.ts';
import type { Site } from './site.ts';

/** @throws Problem where an alert does not fire, or fires in normal life */
export async function verifyObserve(site: Site): Promise<string> {
  await ensureDebianPrograms(['prometheus']); // promtool is of the same package
  const tested = await runRuleTests(site.directory);
  progress(`rule tests: fired ${tested.fired.length}, false ${tested.false.length}`);
  const seen = await watchService(site);
  progress(`in the real service: fired ${seen.fired.length}, false ${seen.false.length}`);

  const wrong = [...new Set([...tested.false, ...seen.false])];
  const line = `alerts ${Object.keys(alerts).length}: fired ${tested.fired.length}, false ${wrong.length}`;
  if (wrong.length > 0) throw new Problem(`${line} (${wrong.join(', ')})`);
  if (tested.fired.length < Object.keys(alerts).length) throw new Problem(line);
  return line;
}
