import { expect } from 'chai';
import { nothingFits } from '../../../dev/fake-model/fake-model.ts';
import { answerText, asking, failureOf, useModelClient } from '../../toolkit/drive/model-client.ts';

describe('dev/fake-model: rules, queued answers and recorded requests', () => {
  const { answerTo, model } = useModelClient();
  const control = async (method: string, path: string, body?: unknown) =>
    fetch(`${model().url}/control${path}`, { method, ...(body !== undefined && { body: JSON.stringify(body) }) });

  it('answers by a matching rule, otherwise from the queue, and by the librarian if the queue is empty', async () => {
    model().rule((_, question) => (question === 'ruled' ? { answer: ['by rule'] } : undefined));
    model().next({ answer: ['first'] }, { answer: ['second'] });
    const answers = [];
    for (const question of ['one', 'ruled', 'two', 'three']) answers.push(answerText(await answerTo(asking(question))));
    expect(answers).to.deep.equal(['first', 'by rule', 'second', nothingFits]);
    expect(model().requests.map(({ number }) => number)).to.deep.equal([1, 2, 3, 4]);
    expect(model().requests[1]?.body).to.deep.include({ messages: [{ role: 'user', content: 'ruled' }] });
    expect((await model().waitFor(4, 10)).map(({ outcome }) => outcome)).to.deep.equal(Array(4).fill('answered'));
  });

  it('accepts rules and a queue over HTTP, and clears both on request', async () => {
    const rules = [{ contains: 'fail', script: { refuse: 529 } }];
    expect((await control('PUT', '/rules', rules)).status).to.equal(204);
    expect((await control('PUT', '/next', [{ answer: ['told'] }])).status).to.equal(204);
    expect(await failureOf(answerTo(asking('please fail')))).to.equal('529 overloaded_error');
    expect(answerText(await answerTo(asking('x')))).to.equal('told');
    const requests = (await (await control('GET', '/requests')).json()) as { text: string; outcome: string }[];
    expect(requests.map(({ text, outcome }) => [text, outcome])).to.deep.equal([
      ['', 'refused'],
      ['told', 'answered'],
    ]);
    expect((await control('DELETE', '')).status).to.equal(204);
    expect(model().requests).to.deep.equal([]);
    expect(await failureOf(answerTo(asking('please fail')))).to.equal('answered');
  });

  for (const [what, path, body] of [
    ['an object instead of a list', '/next', {}],
    ['a word instead of a script', '/next', ['x']],
    ['an unknown path', '/else', []],
  ] as const)
    it(`answers 400 to ${what}`, async () => {
      expect((await control('PUT', path, body)).status).to.equal(400);
    });
});
