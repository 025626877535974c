import { Client, Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { readConfig } from '../../config.ts';
import { StartProblem } from '../../platform/core/start-problem.ts';
import { scheduledTypes, schedules } from '../../worker/temporal/schedules.ts';
import { setUp } from '../../worker/temporal/namespace.ts';
import { testStack } from '../toolkit/stack/stack.ts';

const int = proto.temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_INT;
const attributes = [
  'ClubId',
  'EndpointId',
  'EventType',
  'AgentId',
  'CampaignId',
  'AutomationId',
  'AutomationVersion',
] as const;
const created = (names: readonly string[]) => `The search attributes ${names.join(', ')} are created.`;
const allThere = `The search attributes ${attributes.join(', ')} exist.`;
const schedulesAreRight = `The schedules ${scheduledTypes.join(', ')} are set as this version defines them.`;

/** Refuses a call with a gRPC status code: 7 is "permission denied", and 12 is "unimplemented". */
const refusal = (code: number) => () =>
  Promise.reject(Object.assign(new Error('refused'), { code, details: 'refused', metadata: {} }));

const attributeCommands = (namespace: string, names: readonly string[]) => [
  ...names.map(
    (name) => `temporal operator search-attribute create --namespace ${namespace} --name ${name} --type Keyword`,
  ),
  `in Temporal Cloud: tcld namespace search-attributes add --namespace ${namespace}${names.map((name) => ` --search-attribute ${name}=Keyword`).join('')}`,
];

describe('worker/setup', function () {
  this.timeout(60_000);
  let connection: Connection;
  let namespace: string;
  let first: Awaited<ReturnType<typeof run>>;
  const namespaces: string[] = [];
  before('connect, and run setup once', async () => {
    await testStack();
    connection = await Connection.connect({ address: readConfig().temporal.address });
    namespace = newNamespace();
    first = await run();
  });
  after('delete the schedules, and close the connection', async () => {
    for (const name of namespaces)
      for (const { scheduleId } of Object.values(schedules)) await scheduleIn(name, scheduleId).delete();
    await connection.close();
  });

  const newNamespace = () => {
    const name = `setup-${randomUUID()}`;
    namespaces.push(name);
    return name;
  };
  const scheduleIn = (name: string, scheduleId: string) =>
    new Client({ connection, namespace: name }).schedule.getHandle(scheduleId);
  const remove = (...names: string[]) =>
    connection.operatorService.removeSearchAttributes({ namespace, searchAttributes: names });
  async function run(ofNamespace = namespace, services?: Parameters<typeof setUp>[3]) {
    const lines: string[] = [];
    const refused = await setUp(connection, ofNamespace, (line) => lines.push(line), services);
    return { lines, refused };
  }
  /** Returns services that refuse all calls of the operator service, and the named calls, with this code. */
  const refusing = (code: number, ...also: ('registerNamespace' | 'describeNamespace')[]) =>
    ({
      operatorService: new Proxy(connection.operatorService, { get: () => refusal(code) }),
      workflowService: new Proxy(connection.workflowService, {
        get: (service, name) =>
          also.some((one) => one === name)
            ? refusal(code)
            : (Reflect.get(service, name) as (...args: unknown[]) => unknown).bind(service),
      }),
    }) as Parameters<typeof setUp>[3];

  it('creates namespace, search attributes and schedules, and nothing in a second run', async () => {
    expect(first).to.deep.equal({
      lines: [
        `The namespace ${namespace} is created. It keeps closed runs for 72 h.`,
        created(attributes),
        schedulesAreRight,
      ],
      refused: [],
    });
    const { config } = await connection.workflowService.describeNamespace({ namespace });
    expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).to.equal(72 * 3_600);
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    expect(attributes.map((name) => customAttributes[name])).to.deep.equal(attributes.map(() => 2));
    for (const { scheduleId } of Object.values(schedules)) await scheduleIn(namespace, scheduleId).describe();
    expect(await run()).to.deep.equal({
      lines: [`The namespace ${namespace} exists.`, allThere, schedulesAreRight],
      refused: [],
    });
  });

  it('creates missing search attributes, and corrects changed schedules', async () => {
    await remove('AgentId', 'EventType');
    const sweeper = scheduleIn(namespace, schedules.sweep.scheduleId);
    await sweeper.update((current) => ({ ...current, spec: { intervals: [{ every: '1h' }] } }));
    expect((await run()).lines).to.deep.equal([
      `The namespace ${namespace} exists.`,
      created(['EventType', 'AgentId']),
      schedulesAreRight,
    ]);
    expect((await sweeper.describe()).spec.intervals?.map(({ every }) => every)).to.deep.equal([60_000]);
  });

  it('succeeds even if two processes run it simultaneously', async () => {
    const missingNamespace = newNamespace();
    const [one, other] = await Promise.all([run(missingNamespace), run(missingNamespace)]);
    expect([one.refused, other.refused]).to.deep.equal([[], []]);
    expect((await run(missingNamespace)).lines[1]).to.equal(allThere);
  });

  it('prints commands for an operator if it lacks the right to create the namespace, and then stops', async () => {
    const missing = `setup-${randomUUID()}`;
    expect(await run(missing, refusing(7, 'registerNamespace'))).to.deep.equal({
      lines: [],
      refused: [
        `temporal operator namespace create --namespace ${missing} --retention 72h`,
        ...attributeCommands(missing, attributes),
      ],
    });
  });

  it('prints what to do if the server refuses access to the namespace', async () => {
    const failure = await run(namespace, refusing(7, 'describeNamespace')).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(StartProblem);
    expect((failure as StartProblem).message).to.equal(
      `Temporal does not show us the namespace ${namespace} (gRPC status 7): give our API key or client certificate access to it, or set TEMPORAL_NAMESPACE to their namespace.`,
    );
  });

  it('finds missing search attributes by queries if the server refuses to list the attributes', async () => {
    expect((await run(namespace, refusing(7))).refused).to.deep.equal([]);
    await remove('ClubId', 'EventType');
    expect(await run(namespace, refusing(12))).to.deep.equal({
      lines: [`The namespace ${namespace} exists.`, schedulesAreRight],
      refused: attributeCommands(namespace, ['ClubId', 'EventType']),
    });
  });

  it('reports a search attribute that has the wrong type', async () => {
    await remove('AgentId');
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: { AgentId: int } });
    const failure = await run().catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(StartProblem);
    expect((failure as StartProblem).message).to.equal(
      `The search attribute AgentId of the namespace ${namespace} is not a Keyword. Remove it, or use another namespace.`,
    );
  });
});
