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

/** As gRPC says it: 7 is "permission denied", 12 "unimplemented". */
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
  before('connect, and run it once', async () => {
    await testStack();
    connection = await Connection.connect({ address: readConfig().temporal.address });
    namespace = newNamespace();
    first = await run();
  });
  after('end the schedules, and the connection', async () => {
    for (const made of namespaces)
      for (const { scheduleId } of Object.values(schedules)) await scheduleIn(made, scheduleId).delete();
    await connection.close();
  });

  const newNamespace = () => {
    const made = `setup-${randomUUID()}`;
    namespaces.push(made);
    return made;
  };
  const scheduleIn = (made: string, scheduleId: string) =>
    new Client({ connection, namespace: made }).schedule.getHandle(scheduleId);
  const remove = (...names: string[]) =>
    connection.operatorService.removeSearchAttributes({ namespace, searchAttributes: names });
  async function run(given = namespace, services?: Parameters<typeof setUp>[3]) {
    const lines: string[] = [];
    const refused = await setUp(connection, given, (line) => lines.push(line), services);
    return { lines, refused };
  }
  /** The services of a server that refuses operator calls, and maybe a namespace, with this code. */
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

  it('creates namespace, search attributes and schedules; a second time all is there', async () => {
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

  it('creates the search attributes that are missing, and sets schedules right', async () => {
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

  it('is safe to run twice at once', async () => {
    const made = newNamespace();
    const [one, other] = await Promise.all([run(made), run(made)]);
    expect([one.refused, other.refused]).to.deep.equal([[], []]);
    expect((await run(made)).lines[1]).to.equal(allThere);
  });

  it('refused as an operator: says what somebody else must run, and does nothing without a namespace', async () => {
    const missing = `setup-${randomUUID()}`;
    expect(await run(missing, refusing(7, 'registerNamespace'))).to.deep.equal({
      lines: [],
      refused: [
        `temporal operator namespace create --namespace ${missing} --retention 72h`,
        ...attributeCommands(missing, attributes),
      ],
    });
  });

  it('says what to do where the namespace itself is refused', async () => {
    const failure = await run(namespace, refusing(7, 'describeNamespace')).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(StartProblem);
    expect((failure as StartProblem).message).to.equal(
      `Temporal does not show us the namespace ${namespace} (gRPC status 7): give our API key or client certificate access to it, or set TEMPORAL_NAMESPACE to their namespace.`,
    );
  });

  it('refused as an operator: finds by queries which search attributes are missing', async () => {
    expect((await run(namespace, refusing(7))).refused).to.deep.equal([]);
    await remove('ClubId', 'EventType');
    expect(await run(namespace, refusing(12))).to.deep.equal({
      lines: [`The namespace ${namespace} exists.`, schedulesAreRight],
      refused: attributeCommands(namespace, ['ClubId', 'EventType']),
    });
  });

  it('says that a search attribute of another type must go', async () => {
    await remove('AgentId');
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: { AgentId: int } });
    const failure = await run().catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(StartProblem);
    expect((failure as StartProblem).message).to.equal(
      `The search attribute AgentId of the namespace ${namespace} is not a Keyword. Remove it, or use another namespace.`,
    );
  });
});
