package interop;

/** What has to hold between the codecs' verdicts on a sample: three ways in which it can be meant. */
enum Law {
  /** The sample is right: all codecs read it, and write it again as it was. */
  SAME {
    @Override
    boolean holds(Sample sample, Verdict peer, Verdict java, Verdict c) {
      return peer.gives(sample.bytes()) && java.gives(sample.bytes()) && c.gives(sample.bytes());
    }
  },
  /** It is wrong: no codec reads it. */
  REFUSED {
    @Override
    boolean holds(Sample sample, Verdict peer, Verdict java, Verdict c) {
      return !peer.accepted() && !java.accepted() && !c.accepted();
    }
  },
  /** It is more than the peer wants to read, whatever the others do. */
  REFUSED_BY_PEER {
    @Override
    boolean holds(Sample sample, Verdict peer, Verdict java, Verdict c) {
      return !peer.accepted();
    }
  },
  /**
   * It may be either. The peer's codec reads nothing that a generated one refuses, and understands it as they do; and
   * it reads what a generated one would have written just so.
   */
  AGREEMENT {
    @Override
    boolean holds(Sample sample, Verdict peer, Verdict java, Verdict c) {
      if (peer.accepted()) {
        return java.gives(peer.bytes()) && c.gives(peer.bytes());
      }
      return !java.gives(sample.bytes()) || GeneratedCodec.hasUnserved(sample);
    }
  };

  abstract boolean holds(Sample sample, Verdict peer, Verdict java, Verdict c);
}
