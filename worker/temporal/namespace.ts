/**
 * Creates the namespace, its search attributes and the schedules that workers need. The work can be repeated safely, even by two processes
 * at the same time. An existing namespace and existing attributes stay unchanged. Existing schedules are changed to the definitions of this
 * version.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, isGrpcServiceError, type Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { searchAttributes } from '../../platform/engine/workflow-types.ts';
import { StartProblem } from '../../platform/core/start-problem.ts';
import { ensureSchedules, scheduledTypes } from './schedules.ts';
import { unseenNamespace } from './reach.ts';

/** The time for which closed runs can be read, in a namespace that this command creates. */
const retentionHours = 72;

/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. */
const keyword = 2;

/**
 * Status codes of gRPC. A server that refuses operator calls answers with one of the three `refusals`: permission denied, unimplemented,
 * unauthenticated.
 */
const codes = { invalidArgument: 3, notFound: 5, alreadyExists: 6, refusals: [7, 12, 16] } as const;

/**
 * The longest wait for a new namespace or search attribute, and the interval of queries. The servers of a cluster know a new one only after
 * some seconds.
 */
const patience = { withinMs: 60_000, everyMs: 250 };

type Services = Pick<Connection, 'workflowService' | 'operatorService'>;
export type Say = (line: string) => void;

/**
 * @param services the services of the server, which may refuse operator calls
 * @returns the commands that an operator must run, because the server does not allow us to make these changes
 * @throws StartProblem if the server refuses access to the namespace, a search attribute has a different type, or a created object does not
 * appear in time
 */
export async function setUp(connection: Connection, namespace: string, say: Say, services: Services = connection) {
  const attributeCommands = (names: readonly string[]) => [
    ...names.map(
      (name) => `temporal operator search-attribute create --namespace ${namespace} --name ${name} --type Keyword`,
    ),
    `in Temporal Cloud: tcld namespace search-attributes add --namespace ${namespace}${names.map((name) => ` --search-attribute ${name}=Keyword`).join('')}`,
  ];
  if ((await ensureNamespace(services, namespace, say)) === 'refused')
    return [
      `temporal operator namespace create --namespace ${namespace} --retention ${retentionHours}h`,
      ...attributeCommands(searchAttributes),
    ];
  const refused = await ensureSearchAttributes(services, namespace, say);
  await patiently(() => ensureSchedules(new Client({ connection, namespace }).schedule));
  say(`The schedules ${scheduledTypes.join(', ')} are set as this version defines them.`);
  return refused.length === 0 ? [] : attributeCommands(refused);
}

async function ensureNamespace({ workflowService }: Services, namespace: string, say: Say) {
  try {
    await workflowService.describeNamespace({ namespace });
    say(`The namespace ${namespace} exists.`);
    return 'there';
  } catch (error) {
    if (isRefusal(error)) throw new StartProblem(unseenNamespace(namespace, error));
    if (codeOf(error) !== codes.notFound) throw error;
  }
  try {
    await workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: msToTs(`${retentionHours}h`),
    });
    say(`The namespace ${namespace} is created. It keeps closed runs for ${retentionHours} h.`);
  } catch (error) {
    if (isRefusal(error)) return 'refused';
    if (codeOf(error) !== codes.alreadyExists) throw error; // another process has just created the namespace
  }
  return 'there';
}

/** @returns the missing attributes that the server does not allow us to create */
async function ensureSearchAttributes(services: Services, namespace: string, say: Say): Promise<readonly string[]> {
  const missing = await patiently(() => missingAttributes(services, namespace));
  if (missing.length === 0) {
    say(`The search attributes ${searchAttributes.join(', ')} exist.`);
    return [];
  }
  const missingTypes = Object.fromEntries(missing.map((name) => [name, keyword]));
  try {
    await patiently(() => services.operatorService.addSearchAttributes({ namespace, searchAttributes: missingTypes }));
  } catch (error) {
    if (isRefusal(error)) return missing;
    if (codeOf(error) !== codes.alreadyExists) throw error;
  }
  await patiently(async () => {
    const unknownNames = await missingAttributes(services, namespace);
    if (unknownNames.length > 0) throw new NotYet(`the search attributes ${unknownNames.join(', ')}`);
  });
  say(`The search attributes ${missing.join(', ')} are created.`);
  return [];
}

/**
 * Finds the missing search attributes. It asks the operator service, which also returns the types of the attributes. If the server refuses
 * this call, the function sends one query for each attribute, because a query with a missing attribute fails.
 */
export async function missingAttributes({ operatorService, workflowService }: Services, namespace: string) {
  try {
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
    const types: Readonly<Record<string, number>> = customAttributes;
    for (const name of searchAttributes) {
      if (types[name] !== undefined && types[name] !== keyword)
        throw new StartProblem(
          `The search attribute ${name} of the namespace ${namespace} is not a Keyword. Remove it, or use another namespace.`,
        );
    }
    return searchAttributes.filter((name) => types[name] === undefined);
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  const missing: string[] = [];
  for (const name of searchAttributes) {
    try {
      await workflowService.countWorkflowExecutions({ namespace, query: `${name} = 'x'` });
    } catch (error) {
      if (codeOf(error) !== codes.invalidArgument) throw error;
      missing.push(name);
    }
  }
  return missing;
}

/** The server does not know a newly created object yet. */
class NotYet extends StartProblem {
  constructor(what: string) {
    super(`The server does not know ${what} ${patience.withinMs / 1_000} s after they were created`);
  }
}

/** Retries while the server does not know the namespace, or the work throws {@link NotYet}. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + patience.withinMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const mayPass = error instanceof NotYet || codeOf(error) === codes.notFound;
      if (!mayPass || performance.now() > deadline) throw error;
    }
    await sleep(patience.everyMs);
  }
}

/** @returns the gRPC code of the error or of its cause */
export function codeOf(error: unknown): number | undefined {
  if (isGrpcServiceError(error)) return error.code;
  return error instanceof Error && error.cause !== undefined ? codeOf(error.cause) : undefined;
}

const isRefusal = (error: unknown): boolean => codes.refusals.some((code) => code === codeOf(error));
