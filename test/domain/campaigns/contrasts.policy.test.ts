import { expect } from 'chai';
import fc from 'fast-check';
import { contrasting, maxPreviews, type Candidate } from '../../../domain/campaigns/drafts/contrasts.policy.ts';

const student = (name: string, changes: Partial<Candidate> = {}): Candidate => ({
  id: name,
  name,
  email: 'a@example.com',
  confirmed: true,
  ...changes,
});
const chosen = (students: readonly Candidate[]) =>
  contrasting(students).map(({ student: { id }, because }) => `${because} ${id}`);

describe('the choice of students with contrasting data (CAMP-46)', () => {
  it('shows the most extreme student for each contrast, then the newest students', () => {
    expect(
      chosen([
        student('Ada New'),
        student('Bob Newer'),
        student('Cleo Other'),
        student('דנה לוי'),
        student('Анна Иванова'),
        student('Gail 🎉 Party'),
        student('<b>Hal & "co"</b>'),
        student('Jo'),
        student('Prince'),
        student('Maximiliana Esperanza Guadalupe of the Long Name'),
        student('Ida Mail', { email: 'the.longest.address.of.all@mail.example.com' }),
        student('Never Seen', { confirmed: false }),
      ]),
    ).to.deep.equal([
      'unconfirmed Never Seen',
      'longest_name Maximiliana Esperanza Guadalupe of the Long Name',
      'shortest_name Jo',
      'one_word_name Prince',
      'right_to_left דנה לוי',
      'other_script Анна Иванова',
      'emoji Gail 🎉 Party',
      'special_characters <b>Hal & "co"</b>',
      'longest_email Ida Mail',
      'newest Ada New',
    ]);
  });

  it('ignores an unconfirmed name, because no e-mail shows it', () => {
    const unseen = ['Never 🎉 Seen', 'ال'].map((name) => student(name, { confirmed: false }));
    expect(chosen([student('Ada New'), ...unseen])).to.deep.equal([
      'unconfirmed Never 🎉 Seen',
      'longest_name Ada New',
      'newest ال',
    ]);
    expect(chosen([])).to.deep.equal([]);
  });

  it('ignores white space around a name', () => {
    expect(chosen([student('Ada B. New'), student('Bo Li'), student(' Prince ')])).to.deep.equal([
      'longest_name Ada B. New',
      'shortest_name Bo Li',
      'one_word_name  Prince ',
    ]);
  });

  it('lists ten different students, or all students if the audience has fewer', () => {
    const one = fc.record({
      name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
      email: fc.emailAddress(),
      confirmed: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 30 }), (people) => {
        const students = people.map((person, place) => ({ ...person, id: String(place) }));
        const ids = contrasting(students).map(({ student: { id } }) => id);
        expect(ids).to.have.length(Math.min(maxPreviews, students.length));
        expect(new Set(ids).size).to.equal(ids.length);
      }),
    );
  });
});
