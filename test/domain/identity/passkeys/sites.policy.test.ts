/** Tests the domains and origins of passkeys (PKY-2). */
import { expect } from 'chai';
import { originOf, passkeyMistakes, passkeySitesOf } from '../../../../domain/identity/passkeys/sites.policy.ts';

const dashboardUrl = 'https://dashboard.example.com';
const settings = (classroomUrl: string, passkeys = {}) => ({ dashboardUrl, classroomUrl, passkeys });

describe('passkeySitesOf', () => {
  it('uses the host of the dashboard, and the domain of the classrooms of all clubs', () => {
    const rpIdOf = (url: string) => passkeySitesOf(settings(url)).classroom.rpId;
    expect(passkeySitesOf(settings(dashboardUrl)).dashboard.rpId).to.equal('dashboard.example.com');
    expect(rpIdOf('https://{slug}.classroom.example.com')).to.equal('classroom.example.com');
    expect(rpIdOf('https://club-{slug}.example.com:8443/x')).to.equal('example.com');
    expect(rpIdOf('https://classroom.example.com/{slug}')).to.equal('classroom.example.com');
  });

  it('accepts only the origin of the club', () => {
    const { classroom } = passkeySitesOf(settings('https://{slug}.classroom.example.com/home'));
    expect(originOf(classroom, 'harbour')).to.equal('https://harbour.classroom.example.com');
  });
});

describe('passkeyMistakes', () => {
  it('accepts the host and a domain above it, and refuses other domains', () => {
    const url = 'https://{slug}.classroom.example.com';
    const mistakes = (classroomDomain: string) => passkeyMistakes(settings(url, { classroomDomain })).length;
    expect(['example.com', 'classroom.example.com', 'room.example.com', 'example.org'].map(mistakes)).to.deep.equal([
      0, 0, 1, 1,
    ]);
    expect(passkeyMistakes(settings('https://{slug}'))).to.have.length(1);
  });
});
