/** Chooses the tools of the command `mcp`: by the scopes of the key, by resource, and reads before writes (SDK-11). */
import { toolSchemas, tools, type ToolDescription, type ToolSchema } from '../../generated/tools.ts';
import { UsageError } from '../command.ts';

/** The resources without `--tools`: what an administrator asks about people and courses. All resources together would be more than 90 reads. */
const usualResources: readonly string[] = [
  'students',
  'courses',
  'enrollments',
  'deliveries',
  'assignments',
  'certificates',
  'tags',
  'points',
  'events',
];

const resourceOf = ({ scope }: ToolDescription): string => scope.split(':')[0] ?? scope;

/** Every resource, in the order of the contract. */
export const resources: readonly string[] = [...new Set(tools.map(resourceOf))];

/**
 * @param list the value of `--tools`: resources separated by commas, or `all`; absent for the usual resources
 * @returns the resources
 * @throws UsageError for an unknown resource
 */
export function chosenResources(list: string | undefined): ReadonlySet<string> {
  if (list === undefined) return new Set(usualResources);
  if (list === 'all') return new Set(resources);
  const names = list.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !resources.includes(name));
  if (unknown !== undefined)
    throw new UsageError(
      `There are no tools ${JSON.stringify(unknown)}. Choose from: ${resources.join(', ')}, or all.`,
    );
  return new Set(names);
}

/** @returns the tools that the key may call, in the order of the contract */
export function chosenTools(choice: {
  readonly scopes: readonly string[];
  readonly resources: ReadonlySet<string>;
  readonly allowWrites: boolean;
}): readonly ToolDescription[] {
  return tools.filter(
    (tool) =>
      choice.scopes.includes(tool.scope) &&
      choice.resources.has(resourceOf(tool)) &&
      (choice.allowWrites || isRead(tool)),
  );
}

export const isRead = ({ method }: ToolDescription): boolean => method === 'get';

/** @returns the schema of a tool's input, with the schemas that it refers to */
export function inputSchemaOf({ properties, required }: ToolDescription): ToolSchema {
  const definitions: Record<string, ToolSchema> = {};
  addDefinitions(properties, definitions);
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...(Object.keys(definitions).length > 0 && { $defs: definitions }),
  };
}

function addDefinitions(part: unknown, definitions: Record<string, ToolSchema>): void {
  if (typeof part !== 'object' || part === null) return;
  for (const [key, value] of Object.entries(part)) {
    const name = key === '$ref' && typeof value === 'string' ? value.split('/').at(-1) : undefined;
    const schema = name === undefined ? undefined : toolSchemas[name];
    if (name !== undefined && schema && !Object.hasOwn(definitions, name)) {
      definitions[name] = schema;
      addDefinitions(schema, definitions);
    } else addDefinitions(value, definitions);
  }
}
