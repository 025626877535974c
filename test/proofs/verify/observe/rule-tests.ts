/**
 * Tests the rules with promtool, which simulates time. Each alert must fire while the part that it watches is broken. In normal operation
 * no alert may fire.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../../../../dev/stack/commands.ts';
import { alerts, runbookOf, type AlertName } from '../../../../dev/alerts/rules-file.ts';
import { Problem } from '../../../../dev/problem.ts';
import { projectDirectory } from '../../../../dev/project.ts';
import { breaks, lifeMinutes, normalLife, type SeriesValues } from './worlds.ts';

export const rulesPath = path.join(projectDirectory, 'deploy', 'prometheus', 'rules.yaml');
const pages = 'https://pages.example.com';

/** An alert that must fire at this minute, with the labels of each alert that fires. If `fires` is empty, the alert must not fire. */
interface Expected {
  name: AlertName;
  minute: number;
  fires: readonly Readonly<Record<string, string>>[];
}

interface RuleTests {
  fired: AlertName[];
  false: AlertName[];
}

export async function runRuleTests(directory: string): Promise<RuleTests> {
  await runCommand('promtool', ['check', 'rules', rulesPath]);
  await writeFile(path.join(directory, rulesCopy), withoutSummaries(readFileSync(rulesPath, 'utf8')));
  const names = Object.keys(alerts) as AlertName[];
  const minutes = Array.from({ length: lifeMinutes / 5 }, (_, index) => index * 5);
  const silent = names.flatMap((name) => minutes.map((minute) => ({ name, minute, fires: [] })));
  const broken = names.map((name) => {
    const { series, fires, at = 90 } = breaks[name];
    return testOf({ ...normalLife, ...series }, [{ name, minute: at, fires }]);
  });
  const [silentAlerts, falseAlerts] = await Promise.all([
    unexpectedIn(path.join(directory, 'broken.json'), broken),
    unexpectedIn(path.join(directory, 'normal-life.json'), [testOf(normalLife, silent)]),
  ]);
  return {
    fired: names.filter((name) => !silentAlerts.has(name)),
    false: names.filter((name) => falseAlerts.has(name)),
  };
}

/** @returns the alerts that did not behave as the tests expect; the output of promtool goes to stderr */
async function unexpectedIn(file: string, tests: readonly object[]): Promise<Set<string>> {
  const document = { rule_files: [rulesCopy], evaluation_interval: '1m', tests };
  await writeFile(file, JSON.stringify(document)); // JSON is YAML
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
  const output = `${stdout}${stderr}`;
  const unexpected = new Set([...output.matchAll(/^ +alertname: (\w+), time:/gm)].map(([, name = '']) => name));
  if (status !== 0 && unexpected.size === 0) throw new Problem(`promtool cannot test the rules: ${output}`);
  if (unexpected.size > 0) process.stderr.write(`${output}\n`);
  return unexpected;
}

/**
 * A file with a copy of the rules without summaries. Promtool compares complete annotations, but the values in a summary are not known in
 * advance.
 */
const rulesCopy = 'rules.yaml';
const withoutSummaries = (rules: string) => rules.replace(/^ +summary: .*\n/gm, '');

/** @returns a test in the format of promtool */
function testOf(world: SeriesValues, expected: readonly Expected[]): object {
  return {
    interval: '1m',
    external_labels: { runbooks: pages },
    input_series: Object.entries(world).map(([series, values]) => ({ series, values })),
    alert_rule_test: expected.map(({ name, minute, fires }) => ({
      eval_time: `${minute}m`,
      alertname: name,
      exp_alerts: fires.map((labels) => ({
        exp_labels: { severity: alerts[name].severity, ...labels },
        exp_annotations: { runbook_url: `${pages}/${runbookOf(name)}` },
      })),
    })),
  };
}
