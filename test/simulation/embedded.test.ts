import { EMBEDDED_SCENARIOS } from './embedded-scenarios.ts';
import { testScenarios } from './scenario-suite.ts';

testScenarios('A power cut under an embedded catalog breaks no promise:', EMBEDDED_SCENARIOS);
