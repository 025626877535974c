/** The proofs that `npm run prove` runs: one row for each. */

interface Proof {
  script: string;
  /** Empty if the proof has only one part. */
  parts: readonly string[];
  /** About the duration of one run on two cores. */
  takes: string;
  shows: string;
}

export const proofs: Readonly<Record<string, Proof>> = {
  faults: {
    script: 'test/proofs/faults/main.ts',
    parts: [
      'webhooks',
      'agents',
      'campaigns',
      'automations',
      'media',
      'mentorships',
      'digests',
      'overage',
      'erasure',
      'deploy',
      'restore',
      'callers',
    ],
    takes: '5 to 30 min each',
    shows: 'kills processes while they work, and counts lost and doubled effects',
  },
  verify: {
    script: 'test/proofs/verify/main.ts',
    parts: [
      'build',
      'chart',
      'cluster',
      'connections',
      'export',
      'image',
      'keys',
      'listen',
      'observe',
      'sdk',
      'upgrade',
    ],
    takes: '3 to 15 min each',
    shows: 'installs and upgrades what is shipped, and observes it from outside',
  },
  simulate: {
    script: 'test/proofs/simulation/main.ts',
    parts: [],
    takes: 'as long as you say',
    shows: 'plays random schedules of the engine by a seed, and checks its invariants after each step',
  },
  mutate: {
    script: 'test/proofs/mutation/main.ts',
    parts: [],
    takes: '10 to 60 min',
    shows: 'changes rules and statements one at a time, and counts the changes that no test notices',
  },
  fuzz: {
    script: 'test/proofs/fuzz/main.ts',
    parts: [],
    takes: '2 min',
    shows: 'sends generated requests to every operation, and checks each answer against the contract',
  },
  soak: {
    script: 'test/proofs/soak/main.ts',
    parts: [],
    takes: 'as long as you say',
    shows: 'runs a club for hours with a kill every few minutes, and looks for losses and growth',
  },
  elsewhere: {
    script: 'test/proofs/elsewhere/main.ts',
    parts: [],
    takes: '5 min',
    shows: 'runs the unit tests in other time zones and languages, shortly before awkward hours',
  },
};

export function proofTable(): string {
  const rows = Object.entries(proofs).map(([name, { parts, takes, shows }]) => [
    `npm run prove -- ${name}${parts.length > 0 ? ' PART' : ''}`,
    takes,
    shows,
    parts.join(', '),
  ]);
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map(([command = '', takes = '', shows, parts]) => {
      const line = `${command.padEnd(widths[0] ?? 0)}  ${takes.padEnd(widths[1] ?? 0)}  ${shows}\n`;
      return parts ? `${line}${' '.repeat(4)}PART: ${parts}\n` : line;
    })
    .join('');
}
