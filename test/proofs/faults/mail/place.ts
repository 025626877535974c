/** Adds a mail server to the processes that a proof can kill. The server keeps its port and its log after each kill. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { startChild, type Child } from '../../../../dev/stack/children.ts';
import { fixedPorts } from '../../../../dev/stack/ports.ts';
import { projectDirectory, scriptArguments } from '../../../../dev/project.ts';
import { untilPortAnswers } from '../../../../dev/stack/readiness.ts';
import { onGround, victims as programs, type Ground, type Victim } from '../victims.ts';

export const victimsWithMail = [...programs, 'mail server'] as const;
export type VictimWithMail = (typeof victimsWithMail)[number];

/** S3 only if the stack includes S3. */
type VictimOfMailGround = Victim | 'mail server';

/** The processes that the proof kills, together with a mail server. */
export interface MailGround {
  ground: Ground;
  log: string;
  kill: (victim: VictimOfMailGround) => Promise<void>;
  startAgain: (victim: VictimOfMailGround) => Promise<void>;
}

/**
 * Runs `work` on a running stack, as `onGround` does, and also runs a mail server.
 * @returns the exit code; 130 after an interruption
 */
export async function onMailGround(
  interrupted: Promise<unknown>,
  work: (scene: MailGround) => Promise<number>,
  more: Readonly<Record<string, string>> = {},
  parts?: Parameters<typeof onGround>[3],
): Promise<number> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'club-learning-mails-'));
  try {
    const code = await onGround(
      interrupted,
      async (ground) => {
        const log = path.join(directory, 'received.jsonl');
        const mailServer = mailServerIn(ground, directory, log);
        await mailServer.start();
        const isOfGround = (victim: VictimOfMailGround): victim is Victim => victim !== 'mail server';
        try {
          return await work({
            ground,
            log,
            kill: (victim) => (isOfGround(victim) ? ground.kill(victim) : mailServer.kill()),
            startAgain: (victim) => (isOfGround(victim) ? ground.startAgain(victim) : mailServer.start()),
          });
        } finally {
          await mailServer.kill();
        }
      },
      more,
      parts,
    );
    return code ?? 130;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function mailServerIn(ground: Ground, directory: string, log: string) {
  const port = Number(ground.env[fixedPorts.smtp.variable]);
  let running: Child | undefined;
  return {
    async kill() {
      if (running?.pid !== undefined) process.kill(running.pid, 'SIGKILL');
      await running?.exited;
      running = undefined;
    },
    async start() {
      running = startChild({
        name: 'the mail server',
        command: process.execPath,
        args: scriptArguments('test/proofs/faults/mail/mail-server.ts'),
        env: { ...ground.env, MAIL_LOG: log },
        cwd: projectDirectory,
        logFile: path.join(directory, 'mail-server.log'),
      });
      await untilPortAnswers(port, { timeoutMs: 60_000, child: running });
    },
  };
}
