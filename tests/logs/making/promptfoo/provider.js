// A provider that knows a share of the answers. The state of its random numbers goes on from call to call.
const CAPITALS = { France: 'Paris', Norway: 'Oslo', Greece: 'Athens', Japan: 'Tokyo', Kenya: 'Nairobi', Peru: 'Lima' };

module.exports = class {
  constructor(options) {
    this.name = options.id;
    this.config = options.config;
    this.state = options.config.seed;
  }

  id() {
    return this.name;
  }

  async callApi(prompt) {
    this.state = (this.state * 48271) % 2147483647;
    const country = Object.keys(CAPITALS).find((name) => prompt.includes(name));
    if (this.config.fails === country) {
      return { error: 'the service was away' };
    }
    const known = this.state / 2147483647 < this.config.skill;
    return { output: known ? CAPITALS[country] : 'Atlantis', cached: Boolean(this.config.cached) };
  }
};
