import { expect } from 'chai';
import { parseTemplate } from '../../../../domain/mail/content/variables.policy.ts';

const name = (fallback = 'there') => ({ variable: 'student_name', fallback });
const unclosed = (excerpt: string) => ({
  code: 'unclosed_variable',
  message: `A variable starts with {{ and has no }}: ${excerpt}`,
});
const unknown = (excerpt: string) => ({
  code: 'unknown_variable',
  message: `There is no variable ${excerpt}. There are student_first_name, student_name, student_email, club_name.`,
});

describe('variables in the texts of an e-mail', () => {
  for (const [text, parts, problems] of [
    ['', [], []],
    ['No variable', ['No variable'], []],
    ['Ahoy {{student_name}}, all', ['Ahoy ', name(), ', all'], []],
    ['{{ student_name | my friend }}', [name('my friend')], []],
    ['{{student_name|}}', [name('')], []],
    ['{{student_name|a|b}}', [name('a|b')], []],
    [
      '{{student_email}}{{club_name}}',
      [
        { variable: 'student_email', fallback: '' },
        { variable: 'club_name', fallback: '' },
      ],
      [],
    ],
    ['{{student_first_name}}', [{ variable: 'student_first_name', fallback: 'there' }], []],
    ['}}{{student_name}}', ['}}', name()], []],
    ['Hi {{nobody|x}} y', ['Hi {{nobody|x}}', ' y'], [unknown('{{nobody|x}} y')]],
    ['{{}} y', ['{{}}', ' y'], [unknown('{{}} y')]],
    ['a {{student_name', ['a {{', 'student_name'], [unclosed('{{student_name')]],
    ['a {{b {{student_name}}', ['a {{', 'b ', name()], [unclosed('{{b {{student_name}}')]],
    ['{{student\n_name}}', ['{{', 'student\n_name}}'], [unclosed('{{student\n_name}}')]],
  ] as const)
    it(`split ${JSON.stringify(text)} into ${parts.length} parts, with ${problems.length} problems`, () => {
      expect(parseTemplate(text, 'there')).to.deep.equal({ parts, problems });
    });

  it('are quoted with at most 40 characters in a problem', () => {
    const messageOf = (text: string) => parseTemplate(text).problems[0]?.message;
    for (const letter of ['n', '🦀']) {
      expect(messageOf(`{{${letter.repeat(38)}`)).to.equal(unclosed(`{{${letter.repeat(38)}`).message);
      expect(messageOf(`so {{${letter.repeat(39)}`)).to.equal(unclosed(`{{${letter.repeat(38)}…`).message);
    }
  });
});
