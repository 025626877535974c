import { expect } from 'chai';
import { createOperationRouter } from '../../api/operation-router.ts';
import { contractOperations } from '../../contract/contract.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

describe('the router of operations', () => {
  const operations = contractOperations();
  const router = createOperationRouter();
  let found: { id: string; params: Record<string, string> } | undefined;
  before(() => {
    for (const { operationId, koaPath, method } of operations)
      router.register(
        koaPath,
        [method],
        [
          ({ params }) => {
            found = { id: operationId, params };
          },
        ],
      );
  });
  /** @returns the operation that the router called, with its parameters, or 'next' if it called none */
  const called = async (method: string, path: string) => {
    found = undefined;
    const context = { method, path, request: {}, state: {} };
    let passedOn = false;
    await router.routes(context as never, () => {
      passedOn = true;
      return Promise.resolve();
    });
    return passedOn ? 'next' : found;
  };

  it('calls the operation of each method and path of the contract, with the path parameters', async () => {
    await eachCase(operations, async ({ operationId, koaPath, method }) => {
      const names = [...koaPath.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');
      const params = Object.fromEntries(names.map((name, place) => [name, `classroom-${place}`]));
      const path = koaPath.replaceAll(/:(\w+)/g, (_, name: string) => params[name] ?? '');
      expect(await called(method.toUpperCase(), path)).to.deep.equal({ id: operationId, params });
    });
  });

  it('calls the next layer for an unknown path or method', async () => {
    const paths = [
      '/',
      '',
      '/v1',
      '/v1/',
      '/v1/clubs/a/',
      '/v1/clubs//courses',
      '/V1/clubs',
      '/v1/clubs/a/courses/',
      '//v1/clubs',
    ];
    await eachCase(paths, async (path) => expect(await called('GET', path)).to.equal('next'));
    expect(await called('PUT', '/v1/auth/session')).to.equal('next');
  });
});
