/** Finds the imports between the product's folders, and the imports that break the order of the folders. */
import fs, { readFileSync } from 'node:fs'; // an older Node has no export globSync, and must print its message
import path from 'node:path';

/**
 * The order of folders, the lowest first. Each path is a unit: a folder or a single file. A file may import from its own unit and from
 * lower lines, but not from other units of its line.
 */
const levels: readonly (readonly string[])[] = [
  ['platform/core', 'platform/start.mjs'],
  ['contract', 'entities'],
  ['platform/infra'],
  ['platform/engine'],
  ['domain/deps.ts', 'domain/open-clubs.ts', 'domain/questions.ts'],
  ['domain/watches', 'domain/joining', 'domain/language', 'domain/idempotency', 'domain/audit'],
  ['domain/branding'],
  ['domain/mail'],
  ['domain/mail/bounds', 'domain/mail/codes', 'domain/mail/content', 'domain/mail/notices', 'domain/mail/suppressions'],
  ['domain/mail/domains', 'domain/mail/texts', 'domain/mail/tracking'],
  ['domain/mail/sending', 'domain/mail/transactional', 'domain/billing', 'domain/knowledge'],
  ['domain/erasures', 'domain/mail/parts.ts'],
  ['domain/identity'],
  ['domain/access', 'domain/media'],
  ['domain/media/formats', 'domain/media/storage', 'domain/media/uses'],
  ['domain/media/erasure'],
  ['domain/media/purposes'],
  ['domain/media/processing', 'domain/media/uploads'],
  ['domain/media/library'],
  ['domain/media/transcriptions'],
  ['domain/media/parts.ts'],
  ['domain/clubs'],
  ['domain/learning', 'domain/agents', 'domain/sales'],
  ['domain/webhooks/endpoints'],
  ['domain/webhooks/deliveries'],
  ['domain/webhooks/queues'],
  ['domain/webhooks/attempts'],
  ['domain/webhooks/events'],
  [
    'domain/webhooks',
    'domain/bulk',
    'domain/conditions',
    'domain/assignments',
    'domain/repositories',
    'domain/community',
    'domain/mentorships',
  ],
  ['domain/campaigns', 'domain/exports'],
  ['domain/automations'],
  ['domain/contexts.ts'],
  ['domain/students'],
  ['activities'],
  ['config.ts'],
  ['api', 'workflows', 'worker', 'telemetry.ts'],
  ['commands'],
  ['main.ts'],
];

/** These may import types of each other: processes describe each other's interfaces, but share no code. */
const typesOnly = new Set(['api', 'workflows', 'worker']);

export interface Import {
  /** Both paths are relative to the project's directory. */
  file: string;
  target: string;
  isType: boolean;
}

export interface Arrow {
  from: string;
  to: string;
  isBackward: boolean;
  imports: readonly Import[];
}

/** @returns the product's TypeScript files */
export function productFiles(directory: string): string[] {
  const places = [...new Set(levels.flat().map((unit) => unit.split('/')[0] ?? unit))];
  return places.flatMap((place) =>
    place.endsWith('.ts') ? [place] : fs.globSync(`${place}/**/*.ts`, { cwd: directory }).toSorted(),
  );
}

export function productImports(directory: string): Import[] {
  return productFiles(directory).flatMap((file) => importsOf(file, readFileSync(path.join(directory, file), 'utf8')));
}

const statement = /^(?:import|export)\s+(type\s)?(?:[^;'"]*?\sfrom\s)?'(\.[^']+)'/gm;
const expression = /\bimport\(\s*'(\.[^']+)'/g;

/** @returns the relative imports in this text: statements, re-exports, `import()` and types by `import()` */
export function importsOf(file: string, text: string): Import[] {
  const at = (specifier: string) => path.posix.join(path.posix.dirname(file), specifier);
  return [
    ...[...text.matchAll(statement)].map(([, type, target = '']) => ({
      file,
      target: at(target),
      isType: type !== undefined,
    })),
    ...[...text.matchAll(expression)].map(([, target = '']) => ({ file, target: at(target), isType: false })),
  ];
}

/** @throws Error if `levels` lacks the file's folder */
export function unitOf(file: string): string {
  const units = levels.flat().filter((unit) => file === unit || file.startsWith(`${unit}/`));
  const unit = units.toSorted((one, other) => other.length - one.length)[0];
  if (unit === undefined)
    throw new Error(`${file} is missing in the order of folders: add it to dev/generators/import-graph.ts.`);
  return unit;
}

/**
 * @param fold gives the name of a unit in the graph
 * @returns the arrows between different units, sorted by name
 */
export function arrowsOf(imports: readonly Import[], fold = (unit: string) => unit): Arrow[] {
  const between = imports.flatMap((one) => {
    const [from, to] = [unitOf(one.file), unitOf(one.target)];
    if (fold(from) === fold(to) || (one.isType && typesOnly.has(from) && typesOnly.has(to))) return [];
    return [{ from: fold(from), to: fold(to), isBackward: levelOf(to) >= levelOf(from), one }];
  });
  return [...Map.groupBy(between, ({ from, to }) => nameOf({ from, to }))]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, [first, ...more]]) =>
      first === undefined
        ? []
        : [
            {
              from: first.from,
              to: first.to,
              isBackward: first.isBackward || more.some(({ isBackward }) => isBackward),
              imports: [first, ...more].map(({ one }) => one),
            },
          ],
    );
}

/** @returns the level from 0; -1 for an unknown unit */
const levelOf = (unit: string): number => levels.findIndex((level) => level.includes(unit));

/** @returns the highest level of a folder and its subfolders; -1 for an unknown folder */
export const topLevelOf = (folder: string): number =>
  levels.findLastIndex((level) => level.some((unit) => unit === folder || unit.startsWith(`${folder}/`)));

export const nameOf = ({ from, to }: Pick<Arrow, 'from' | 'to'>): string => `${from} → ${to}`;

/** @returns pairs of units that import from each other */
export function mutualPairs(arrows: readonly Arrow[]): string[] {
  const names = new Set(arrows.map(nameOf));
  return arrows
    .filter(({ from, to }) => from < to && names.has(nameOf({ from: to, to: from })))
    .map(({ from, to }) => `${from} ↔ ${to}`);
}

const isDomain = (unit: string): boolean => unit.startsWith('domain/');

/** @returns the page docs/reference/imports.md */
export function importsPage(imports: readonly Import[]): string {
  const arrows = arrowsOf(imports);
  const top = arrowsOf(imports, (unit) => (isDomain(unit) ? 'domain' : unit));
  const inDomain = arrows.filter(({ from, to }) => isDomain(from) && isDomain(to));
  const backward = arrows.filter(({ isBackward }) => isBackward);
  const counts = (title: string, drawn: readonly Arrow[]) =>
    `| ${title} | ${drawn.length} | ${drawn.filter(({ isBackward }) => isBackward).length} | ${mutualPairs(drawn).length} |`;
  const targets = (unit: string, wantsBackward: boolean) =>
    arrows
      .filter(({ from, isBackward }) => from === unit && isBackward === wantsBackward)
      .map(({ to, imports: { length } }) => `${short(to)} ${length}`)
      .join(', ');
  return `# Imports between folders

Generated by \`npm run generate\` from the imports of the code; never edited.

A file imports from its own folder and from folders above it in this table. Folders of one row do not import each other.
\`dev/generators/import-graph.ts\` has the order. \`test/imports.test.ts\` fails on an arrow against it.

| level | folders |
|---|---|
${levels.map((units, level) => `| ${level + 1} | ${units.map((unit) => `\`${unit}\``).join(' ')} |`).join('\n')}

An arrow means that a folder imports from another folder. An arrow is backward if the order forbids it.

| graph | arrows | backward | mutual pairs |
|---|---|---|---|
${counts('top level, with `domain` as one', top)}
${counts('within `domain`', inDomain)}

## Arrows

Each arrow has its number of imports. Names of contexts omit \`domain/\`.

| folder | imports from |${backward.length > 0 ? ' against the order |' : ''}
|---|---|${backward.length > 0 ? '---|' : ''}
${levels
  .flat()
  .filter((unit) => arrows.some(({ from }) => from === unit))
  .map((unit) => `| \`${unit}\` | ${targets(unit, false)} |${backward.length > 0 ? ` ${targets(unit, true)} |` : ''}`)
  .join('\n')}
`;
}

const short = (unit: string): string => unit.replace(/^domain\//, '');
