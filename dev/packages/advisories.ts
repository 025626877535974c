/** `npm run check -- advisories`: asks the registry for advisories about the locked packages. Passes if the registry does not answer. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  judgeAdvisories,
  readAudit,
  type AcceptedAdvisory,
  type AuditReport,
  type LockFile,
} from './advisories.policy.ts';
import { runScript, say } from '../problem.ts';
import { projectDirectory } from '../project.ts';

/** The check must end even if the registry does not answer. */
const withinMs = 20_000;
const withoutPatience = ['--fetch-retries=0', '--fetch-timeout=10000'];

const read = (file: string): unknown => JSON.parse(readFileSync(path.join(projectDirectory, file), 'utf8'));

/** `npm audit` exits with 1 if it fails, but also if it reports an advisory. Only its output shows which. */
function askRegistry(): Promise<AuditReport | { readonly reason: string }> {
  return new Promise((resolve) => {
    const options = { cwd: projectDirectory, timeout: withinMs, maxBuffer: 64 * 1_048_576 };
    execFile('npm', ['audit', '--json', ...withoutPatience], options, (error, stdout) =>
      resolve(error?.killed === true ? { reason: `nothing in ${withinMs / 1_000} s` } : readAudit(stdout)),
    );
  });
}

await runScript(async () => {
  const report = await askRegistry();
  if ('reason' in report) {
    say(`Advisories: the registry returned no report (${report.reason}), so none were checked.`);
    return 0;
  }
  const accepted = read('dev/packages/accepted-advisories.json') as AcceptedAdvisory[];
  const today = new Date().toISOString().slice(0, 10);
  const { refused, listed } = judgeAdvisories(report, read('package-lock.json') as LockFile, accepted, today);
  for (const line of listed) say(`Advisory, ${line}`);
  for (const line of refused) process.stderr.write(`Advisory, ${line}\n`);
  if (refused.length === 0) say(`Advisories: none that fails the check, ${listed.length} listed.`);
  else
    process.stderr.write(
      'Use a version without it, or accept it with a reason and a date in dev/packages/accepted-advisories.json.\n',
    );
  return refused.length === 0 ? 0 : 1;
});
