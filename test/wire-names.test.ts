/**
 * Tests the names on which code and data outside this checkout depend. Histories, schedules, dashboards and databases contain these names.
 * During an upgrade, processes of an older release use them, too. If a name differs from test/wire-names.json, existing data must be
 * migrated.
 */
import { expect } from 'chai';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { getMetadataArgsStorage } from 'typeorm';
import ts from 'typescript';
import { activities, type ActivityDeps } from '../activities/index.ts';
import { projectDirectory } from '../dev/project.ts';
import {
  searchAttributes,
  taskQueues,
  workflowIdOf,
  workflowTypeNames,
  workflowTypes,
} from '../platform/engine/workflow-types.ts';
import * as workflows from '../workflows/index.ts';

type WireNames = Record<string, unknown>;

const production = '{activities,api,contract,domain,entities,platform,worker,workflows}';

describe('wire names', () => {
  const committed = JSON.parse(readFileSync(path.join(projectDirectory, 'test/wire-names.json'), 'utf8')) as WireNames;
  let found: WireNames;
  before('read them from the code', async function () {
    this.timeout(30_000);
    const sources = globSync(`${production}/**/*.ts`, { cwd: projectDirectory }).map(parse);
    found = {
      workflowTypes: Object.keys(workflows).toSorted(),
      workflowIds: workflowIds(),
      taskQueues,
      activities: activityNames(),
      signals: distinct(
        sources.flatMap((source) => [...callsOf(source, 'defineSignal'), ...valuesOf(source, 'signal')]),
      ),
      searchAttributes: distinct(searchAttributes),
      schedules: distinct(sources.flatMap((source) => valuesOf(source, 'scheduleId'))),
      channels: distinct(sources.flatMap(channelsOf)),
      metrics: sources.flatMap(metricsOf).toSorted(byName),
      preparedStatements: distinct(
        sources.flatMap((source) => [...callsOf(source, 'prepared'), ...callsOf(source, 'preparedRows')]),
      ),
      tables: await tableNames(),
    };
  });

  for (const kind of Object.keys(committed))
    it(`contain the ${kind} of wire-names.json`, () => {
      expect(found[kind]).to.deep.equal(committed[kind]);
    });

  it('belong only to kinds of names that wire-names.json contains', () => {
    expect(Object.keys(found).toSorted()).to.deep.equal(Object.keys(committed).toSorted());
  });
});

const distinct = (names: readonly string[]): string[] => [...new Set(names)].toSorted();
const byName = ({ name: one }: { name: string }, { name: other }: { name: string }) => (one < other ? -1 : 1);

/**
 * For each workflow type: the prefix of its workflow ids and its task queue, such as `webhook-delivery/ on webhooks`. If bulk work of this
 * type uses a different task queue, the text also names that queue.
 */
function workflowIds(): Record<string, string> {
  return Object.fromEntries(
    workflowTypeNames.map((type) => {
      const { taskQueue, bulkTaskQueue } = workflowTypes[type];
      return [
        type,
        `${workflowIdOf(type, '')} on ${taskQueue}${bulkTaskQueue === taskQueue ? '' : `, bulk on ${bulkTaskQueue}`}`,
      ];
    }),
  );
}

/**
 * The names of the activities that a worker registers. A factory only stores its argument, so the test can pass an object without real
 * dependencies.
 */
function activityNames(): string[] {
  const factories: ((deps: ActivityDeps) => object)[] = Object.values(activities);
  const anything = { db: {} } as ActivityDeps;
  return distinct(factories.flatMap((create) => Object.keys(create(anything))));
}

async function tableNames(): Promise<string[]> {
  await import('../entities/data-source.ts'); // Imports every entity. Each import registers the table of the entity.
  return distinct(getMetadataArgsStorage().tables.map(({ name }) => String(name)));
}

function parse(file: string): ts.SourceFile {
  const text = readFileSync(path.join(projectDirectory, file), 'utf8');
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
}

function nodesOf(node: ts.Node): ts.Node[] {
  const nodes = [node];
  ts.forEachChild(node, (child) => void nodes.push(...nodesOf(child)));
  return nodes;
}

const textOf = (node: ts.Node | undefined): string[] => (node && ts.isStringLiteralLike(node) ? [node.text] : []);

/** Returns the first argument of every call of this function, if the argument is a string. */
const callsOf = (source: ts.SourceFile, name: string): string[] =>
  nodesOf(source).flatMap((node) =>
    ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === name
      ? textOf(node.arguments[0])
      : [],
  );

const valuesOf = (source: ts.SourceFile, name: string): string[] =>
  nodesOf(source).flatMap((node) =>
    ts.isPropertyAssignment(node) && ts.isIdentifier(node.name) && node.name.text === name
      ? textOf(node.initializer)
      : [],
  );

/** Finds constants such as `const relayChannel = 'relay'`. NOTIFY and LISTEN accept no parameters, so each channel is a constant. */
const channelsOf = (source: ts.SourceFile): string[] =>
  nodesOf(source).flatMap((node) =>
    ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && /channel$/i.test(node.name.text)
      ? textOf(node.initializer)
      : [],
  );

/** Finds the metrics: each object with a name and a help text is a metric. */
function metricsOf(source: ts.SourceFile): { name: string; labels: string[] }[] {
  return nodesOf(source)
    .filter((node) => ts.isObjectLiteralExpression(node))
    .map((node) => new Map(node.properties.filter(ts.isPropertyAssignment).map((one) => [keyOf(one), one.initializer])))
    .filter((properties) => properties.has('help'))
    .flatMap((properties) => {
      const labels = properties.get('labelNames');
      return textOf(properties.get('name')).map((name) => ({
        name,
        labels: labels && ts.isArrayLiteralExpression(labels) ? labels.elements.flatMap(textOf) : [],
      }));
    });
}

const keyOf = ({ name }: ts.PropertyAssignment): string => (ts.isIdentifier(name) ? name.text : '');
